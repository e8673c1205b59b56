import { SELF } from '../../../../../shared/collection/event.ts';
import type { Retrieval } from '../../../../../shared/collection/retrieval.ts';
import { useCall } from '../../../api/useCall.ts';
import { connectionFacts } from '../../../components/content/retrieval/ConnectionFacts.tsx';
import { Facts } from '../../../components/data/Facts.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { formatCount } from '../../../format/size.ts';
import classes from './EventRetrieval.module.css';

/** How the retrieval of an event was had, and who says so. */
export function EventRetrieval({ id }: { id: number }) {
  const { data, error, refetch } = useCall('readEventRetrieval', { params: { id } });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return null;
  const { final_url, redirects, observer, status, connection, duration_ms } = data;
  return (
    <section className={classes.retrieval} aria-label="How it was retrieved">
      <h2>How it was retrieved</h2>
      <Facts
        facts={[
          ['Address that answered', connection && final_url],
          ['Redirects', redirects.length > 0 && formatCount(redirects.length)],
          ['HTTP status', status],
          ...connectionFacts(connection),
          ['Duration', observer === SELF && `${formatCount(duration_ms)} ms`],
        ]}
      />
      <p className="small muted">{whoSays(data)}</p>
    </section>
  );
}

function whoSays({ connection, observer, ledger_entry, status }: Retrieval): string {
  if (connection) {
    const covered =
      ledger_entry === null
        ? ''
        : ` Ledger entry ${formatCount(ledger_entry)} keeps it from being changed later.`;
    return `${observer === SELF ? 'This node' : observer} says so: no server signs its connections.${covered}`;
  }
  return status === null
    ? 'No server answered.'
    : 'The connection was not recorded. Versions of Strongroom before this one, and most captures, do not have it.';
}
