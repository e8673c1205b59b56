import { IconAlertTriangle, IconCircleCheck, IconCircleDashed, IconShieldX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { Status } from '../../../../shared/collection/collection.ts';
import type { LedgerVerification } from '../../../../shared/ledger/ledger.ts';
import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import { inNoCopySentence } from '../../../../shared/node/copy.ts';
import type { Storage } from '../../../../shared/routes/node/manage.ts';
import { useCall } from '../../api/useCall.ts';
import { useFixity } from '../../components/content/Fixity.tsx';
import { DigestChip, Meter, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { copyPlace, countOf, formatBytes, formatCount, formatDuration } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';
import classes from './Overview.module.css';

export const REFRESH_MS = 15_000;

interface CollectionProps {
  /** Undefined until it is known. */
  watched: number | undefined;
  /** The number of all sources, with those that are paused or imported only. */
  known: number;
}

/** The node's health in panels: collection, ledger, stored bytes, disk space, and the copies if there are any. */
export function NodeHealth({ watched, known }: CollectionProps) {
  const isOwner = useIsOwner();
  // Without watched sources the status is a 503 response, so it is not requested.
  const status = useCall('readStatus', {}, { enabled: !!watched, refetchInterval: REFRESH_MS });
  const storage = useCall('readStorage', {}, { enabled: isOwner, refetchInterval: REFRESH_MS });
  return (
    <section className={classes.panels} aria-label="Node health">
      {status.error ? (
        <ErrorNote error={status.error} onRetry={() => void status.refetch()} />
      ) : (
        <CollectionPanel status={status.data} watched={watched} known={known} />
      )}
      <LedgerPanel />
      <FixityPanel />
      {isOwner && storage.data && <RoomPanel storage={storage.data} />}
      {isOwner && <CopiesPanel />}
    </section>
  );
}

function CollectionPanel({ status, watched, known }: CollectionProps & { status: Status | undefined }) {
  if (watched === 0) {
    return (
      <Panel title="Collection" health="idle" summary="No source is watched">
        {known > 0 && (
          <p>
            <Link to="/sources">{countOf(known, 'source')}</Link> paused or imported only
          </p>
        )}
        <p>
          <Link to="/sources?add=1">Watch a source</Link>
        </p>
      </Panel>
    );
  }
  if (!status) return <Panel title="Collection" health="idle" summary="Loading…" />;
  const { sources, last_completed_collection_at: last } = status;
  const unwatched = sources.total - (watched ?? sources.total);
  return (
    <Panel title="Collection" {...collectionHealth(status)}>
      <p>
        <Link to="/sources?state=available">
          {formatCount(sources.available)} of {countOf(sources.total, 'source')}
        </Link>{' '}
        available
        {unwatched > 0 && `, ${formatCount(unwatched)} paused or imported only`}
      </p>
      <p>
        {last ? (
          <>
            Last round <TimeText at={last} />
          </>
        ) : (
          'No completed round yet'
        )}
      </p>
    </Panel>
  );
}

/** Only `overdue` is a fault of the collection: the other reasons are those of a young or resting node. */
function collectionHealth({ reason, failing }: Status): { health: HealthStatus; summary: string } {
  if (reason === 'overdue') return { health: 'warning', summary: 'No checks in the last 24 hours' };
  if (failing.length > 0) {
    const fail = failing.length === 1 ? 'fails' : 'fail';
    return { health: 'warning', summary: `${countOf(failing.length, 'source')} ${fail}` };
  }
  if (reason !== null) return { health: 'idle', summary: 'Not checked yet' };
  return { health: 'well', summary: 'All watched sources available' };
}

type ShownVerification = Pick<LedgerVerification, 'ok' | 'checked_at' | 'size'>;

/**
 * The result of the last verification since the node started. Undefined for visitors or if there was none.
 */
function useLastVerification(): ShownVerification | undefined {
  const isOwner = useIsOwner();
  const jobs = useCall(
    'listJobs',
    { query: { limit: 100 } },
    { enabled: isOwner, refetchInterval: REFRESH_MS },
  );
  const last = jobs.data?.items.find(({ kind, state }) => kind === 'ledger_verification' && state === 'done');
  const result: Partial<ShownVerification> = Object(last?.result);
  const { ok, checked_at, size } = result;
  if (ok === undefined || checked_at === undefined || size === undefined) return undefined;
  return { ok, checked_at, size };
}

function LedgerPanel() {
  const ledger = useCall('readLedger', { query: { limit: 1 } }, { refetchInterval: REFRESH_MS });
  const verified = useLastVerification();
  if (ledger.error) return <ErrorNote error={ledger.error} onRetry={() => void ledger.refetch()} />;
  if (!ledger.data) return <Panel title="Ledger" health="idle" summary="Loading…" />;
  const { head, total } = ledger.data;
  if (total === 0) return <Panel title="Ledger" health="idle" summary="No entries yet" />;
  // Entries alone are no sign of health; only a verification is.
  const health: HealthStatus = !verified ? 'idle' : verified.ok ? 'well' : 'warning';
  return (
    <Panel
      title="Ledger"
      health={health}
      summary={verified && !verified.ok ? 'Verification failed' : countOf(total, 'entry', 'entries')}
    >
      <p>
        Root <DigestChip digest={head.root} label="ledger root" />
      </p>
      <p>
        {verified ? (
          <>
            <Link to="/ledger">Verified</Link> <TimeText at={verified.checked_at} />, up to entry{' '}
            {formatCount(verified.size)}
          </>
        ) : (
          <Link to="/ledger">Verify</Link>
        )}
      </p>
    </Panel>
  );
}

const NO_ROOM: Record<NonNullable<Storage['no_room']>, string> = {
  data_cap_reached: 'The archive is full',
  disk_nearly_full: 'The disk is almost full',
};

function RoomPanel({ storage }: { storage: Storage }) {
  const { held_bytes, cap_bytes, free_bytes, no_room } = storage;
  return (
    <Panel
      title="Storage"
      health={no_room ? 'warning' : 'well'}
      summary={no_room ? NO_ROOM[no_room] : 'Enough space'}
    >
      <Meter label="Stored bytes and the archive limit" value={held_bytes} max={cap_bytes} />
      <p>
        {formatBytes(held_bytes)} of <Link to="/settings">{formatBytes(cap_bytes)}</Link> used
      </p>
      <p>{formatBytes(free_bytes)} free on the disk</p>
    </Panel>
  );
}

/** Whether the archive was shown to be restorable from its copies, from where, and how long it would take. */
function CopiesPanel() {
  const { data } = useCall(
    'listCopies',
    { query: { limit: MAX_LIST_LIMIT } },
    { refetchInterval: REFRESH_MS },
  );
  if (!data || data.items.length === 0) return null;
  const failing = data.items.find(({ last_drill }) => last_drill && last_drill.outcome !== 'restored');
  const [newest] = data.items
    .filter(({ proven }) => proven !== null)
    .sort((one, other) => (other.proven?.at ?? '').localeCompare(one.proven?.at ?? ''));
  const inNoCopy = Math.max(...data.items.map(({ withheld_in_no_copy }) => withheld_in_no_copy));
  const hasPrivate = data.items.some(({ pages }) => !pages);
  const state = failing
    ? ({ health: 'warning', summary: 'A restore test failed' } as const)
    : inNoCopy > 0
      ? ({ health: 'warning', summary: 'Not everything is in a copy' } as const)
      : newest
        ? ({ health: 'well', summary: 'Can be restored' } as const)
        : ({ health: 'idle', summary: 'No restore test yet' } as const);
  return (
    <Panel title="Copies" {...state}>
      {failing?.last_drill && (
        <p className="wrap-anywhere">
          Failed <TimeText at={failing.last_drill.at} /> from{' '}
          <Link to="/settings#copies">{copyPlace(failing.target)}</Link>
        </p>
      )}
      {inNoCopy > 0 && (
        <p>
          <Link to="/settings#copies">{inNoCopySentence(inNoCopy, hasPrivate)}</Link>
        </p>
      )}
      {newest?.proven && (
        <>
          <p className="wrap-anywhere">
            Last proven <TimeText at={newest.proven.at} /> from{' '}
            <Link to="/settings#copies">{copyPlace(newest.target)}</Link>
          </p>
          {newest.proven.restored && (
            <p>A full restore takes about {formatDuration(newest.proven.restored.full_restore_seconds)}</p>
          )}
        </>
      )}
      {!failing && !newest && (
        <p>
          <Link to="/settings#copies">Test a copy</Link>
        </p>
      )}
    </Panel>
  );
}

/** The known condition of the stored bytes. */
function FixityPanel() {
  const isOwner = useIsOwner();
  const { fixity, error, refetch } = useFixity();
  const storage = useCall('readStorage', {}, { enabled: isOwner });
  if (error) return <ErrorNote error={error} onRetry={refetch} />;
  if (!fixity) return <Panel title="Stored bytes" health="idle" summary="Loading…" />;
  if (storage.data?.held_bytes === 0 && fixity.damaged_objects === 0) {
    return <Panel title="Stored bytes" health="idle" summary="Nothing stored yet" />;
  }
  const { last_completed_audit_at: last, checked, damaged_objects } = fixity;
  const health: HealthStatus = damaged_objects > 0 ? 'bad' : last ? 'well' : 'idle';
  const summary =
    damaged_objects > 0
      ? `${countOf(damaged_objects, 'object')} damaged`
      : last !== null
        ? 'No known damage'
        : 'Not yet re-checked';
  return (
    <Panel title="Stored bytes" health={health} summary={summary}>
      {last && (
        <p>
          {countOf(checked, 'object')} re-hashed <TimeText at={last} />
        </p>
      )}
      {last === null && <p>No integrity check completed yet</p>}
      {isOwner && (
        <p>
          <Link to="/settings#stored-bytes">
            {damaged_objects > 0 ? 'How to repair' : 'Start integrity check'}
          </Link>
        </p>
      )}
    </Panel>
  );
}

type HealthStatus = 'well' | 'warning' | 'bad' | 'idle';

interface PanelProps {
  title: string;
  health: HealthStatus;
  /** The status in a few words. */
  summary: ReactNode;
  children?: ReactNode;
}

const ICONS = {
  well: IconCircleCheck,
  warning: IconAlertTriangle,
  bad: IconShieldX,
  idle: IconCircleDashed,
};

/** One aspect of the node's health: an icon, a short status and details. */
function Panel({ title, health, summary, children }: PanelProps) {
  const Icon = ICONS[health];
  return (
    <div className={classes.panel}>
      <h2>{title}</h2>
      <p className="large mt-2 mb-2 strong line gap-2" data-health={health}>
        <Icon size={18} aria-hidden /> <span>{summary}</span>
      </p>
      <div className="stack gap-1 compact muted numeric">{children}</div>
    </div>
  );
}
