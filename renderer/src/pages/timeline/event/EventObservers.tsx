import { SELF } from '../../../../../shared/collection/event.ts';
import { useCall } from '../../../api/useCall.ts';
import { CORROBORATION_MEANING } from '../../../components/content/retrieval/Corroboration.tsx';
import { ObserverText } from '../../../components/content/retrieval/ObserverText.tsx';
import { DataTable } from '../../../components/data/DataTable.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { formatCount } from '../../../format/size.ts';
import classes from './EventObservers.module.css';

/** Who else retrieved the version of an event from the same address, and when. */
export function EventObservers({ id, observer }: { id: number; observer: string }) {
  const { data, error, refetch } = useCall('readEventObservers', { params: { id } });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data || data.sha256 === null) return null;
  const others = data.observers.filter((each) => each.observer !== observer);
  return (
    <section className={classes.observers} aria-label="Who else saw this">
      <h2>Who else saw this</h2>
      {others.length === 0 ? (
        <p className="muted">
          {observer === SELF
            ? 'Nobody else yet. Peers that watch this address, and imported captures of it, appear here when they have the same bytes.'
            : 'Nobody else yet. This node has not retrieved the same bytes itself.'}
        </p>
      ) : (
        <>
          <DataTable
            caption="Observers with the same bytes from the same address, earliest first"
            rows={data.observers}
            rowKey={({ observer: name }) => name}
            columns={[
              {
                id: 'observer',
                header: 'Observer',
                cell: ({ observer, first }) => (
                  <>
                    <ObserverText observer={observer} />
                    <div data-show="narrow" className="small muted">
                      first <TimeText at={first} />
                    </div>
                  </>
                ),
              },
              {
                id: 'first',
                header: 'First',
                hideBelow: 'narrow',
                cell: ({ first }) => <TimeText at={first} />,
              },
              { id: 'last', header: 'Last', hideBelow: 'narrow', cell: ({ last }) => <TimeText at={last} /> },
              {
                id: 'times',
                header: 'Times',
                align: 'end',
                hideBelow: 'narrow',
                cell: ({ retrievals }) => formatCount(retrievals),
              },
            ]}
          />
          <p className="small muted">{CORROBORATION_MEANING}</p>
        </>
      )}
    </section>
  );
}
