import type { ObjectMetadata } from '../../../../../shared/collection/retrieval.ts';
import { useCall } from '../../../api/useCall.ts';
import { countOf } from '../../../format/size.ts';
import { type Column, DataTable } from '../../data/DataTable.tsx';
import { TimeText } from '../../data/TimeText.tsx';
import { ErrorNote } from '../../feedback/ErrorNote.tsx';
import { Corroboration } from '../retrieval/Corroboration.tsx';
import { ObserverText } from '../retrieval/ObserverText.tsx';
import classes from './ObjectRetrievals.module.css';

/** The list is limited; the JSON metadata is complete. */
const SHOWN = 50;

const COLUMNS: readonly Column<ObjectMetadata['retrievals'][number]>[] = [
  { id: 'time', header: 'Retrieved', cell: ({ time }) => <TimeText at={time} /> },
  {
    id: 'captured',
    header: 'Captured',
    hideBelow: 'medium',
    cell: ({ original_observed_at: at }) => (at ? <TimeText at={at} /> : ''),
  },
  {
    id: 'observer',
    header: 'Observer',
    cell: ({ observer }) => <ObserverText observer={observer} />,
  },
  {
    id: 'server',
    header: 'Answered by',
    hideBelow: 'medium',
    cell: ({ connection }) => connection?.address ?? '',
  },
  {
    id: 'status',
    header: 'Status',
    align: 'end',
    hideBelow: 'narrow',
    cell: ({ status }) => status ?? '',
  },
];

/** All retrievals of an object, and the result of re-hashing it on the node. */
export function ObjectRetrievals({ sha256 }: { sha256: string }) {
  const { data, error, refetch } = useCall('readObjectMetadata', { params: { sha256 } });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return <p className="muted small">Hashing the stored bytes…</p>;
  const intact = data.retrievals.every((retrieval) => retrieval.intact);
  const rows = data.retrievals.slice(0, SHOWN);
  return (
    <div className={classes.retrievals}>
      <p className={`small ${intact ? classes.good : classes.bad}`}>
        {intact
          ? 'Intact: the node re-hashed the stored bytes, and they match.'
          : 'Damaged: the node re-hashed the stored bytes, and they do not match the digest.'}
      </p>
      {data.corroborated && (
        <p className="small">
          Retrieved from the same URL by: <Corroboration observers={data.observers} />
        </p>
      )}
      <DataTable
        caption="Retrievals of this object, newest first"
        rows={rows}
        rowKey={({ url, time, observer }) => `${time} ${observer} ${url}`}
        columns={COLUMNS}
      />
      <p className="small muted">
        {data.retrievals.length > SHOWN
          ? `Newest ${SHOWN} of ${countOf(data.retrievals.length, 'retrieval')}. `
          : `${countOf(data.retrievals.length, 'retrieval')}. `}
        <a href={`/archive/${sha256}/metadata`} target="_blank" rel="noopener noreferrer">
          All metadata (JSON)
        </a>
      </p>
    </div>
  );
}
