import { Link } from 'react-router';
import type { Status } from '../../../../shared/collection.ts';
import { type LedgerVerification, ledgerVerificationSchema } from '../../../../shared/ledger.ts';
import type { Storage } from '../../../../shared/routes/manage.ts';
import { useCall } from '../../api/useCall.ts';
import { DigestChip } from '../../components/data/DigestChip.tsx';
import { Meter } from '../../components/data/Meter.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf, formatBytes, formatCount } from '../../format/size.ts';
import { useIsOwner } from '../../state/session.ts';
import { FixityPanel } from './FixityPanel.tsx';
import { type Health, Panel } from './Panel.tsx';
import classes from './Wellness.module.css';

const REFRESH_MS = 15_000;

/** Whether the node is well, in four answers: does it collect, is its ledger there, are the bytes what they were, has it room. */
export function Wellness({ hasSource }: { hasSource: boolean | undefined }) {
  const isOwner = useIsOwner();
  // Without a source there is nothing to ask about, and the answer would be a 503.
  const status = useCall('readStatus', {}, { enabled: hasSource ?? false, refetchInterval: REFRESH_MS });
  const storage = useCall('readStorage', {}, { enabled: isOwner, refetchInterval: REFRESH_MS });
  return (
    <section className={classes.panels} aria-label="How the node is">
      {status.error ? (
        <ErrorNote error={status.error} onRetry={() => void status.refetch()} />
      ) : (
        <CollectionPanel status={status.data} hasSource={hasSource} />
      )}
      <LedgerPanel />
      <FixityPanel />
      {isOwner && storage.data && <RoomPanel storage={storage.data} />}
    </section>
  );
}

interface CollectionPanelProps {
  status: Status | undefined;
  hasSource: boolean | undefined;
}

function CollectionPanel({ status, hasSource }: CollectionPanelProps) {
  if (hasSource === false) {
    return (
      <Panel title="Collection" health="idle" says="No source is watched">
        <Link to="/sources">Watch one</Link>
      </Panel>
    );
  }
  if (!status) return <Panel title="Collection" health="idle" says="Asking…" />;
  const { sources, failing, last_completed_collection_at: last, ok } = status;
  const health: Health = ok && failing.length === 0 ? 'well' : 'warning';
  const says = !ok
    ? 'Nothing was checked for 24 hours'
    : failing.length > 0
      ? `${countOf(failing.length, 'source')} ${failing.length === 1 ? 'fails' : 'fail'}`
      : 'All sources answer';
  return (
    <Panel title="Collection" health={health} says={says}>
      <p>
        <Link to="/sources?state=available">
          {formatCount(sources.available)} of {countOf(sources.total, 'source')}
        </Link>{' '}
        available
      </p>
      <p>
        {last ? (
          <>
            Last round <TimeText at={last} />
          </>
        ) : (
          'No round was completed yet'
        )}
      </p>
    </Panel>
  );
}

/** What the last verification since the node started found; nothing where there was none, or for visitors. */
function useLastVerification(): LedgerVerification | undefined {
  const isOwner = useIsOwner();
  const jobs = useCall(
    'listJobs',
    { query: { limit: 100 } },
    { enabled: isOwner, refetchInterval: REFRESH_MS },
  );
  const last = jobs.data?.items.find(({ kind, state }) => kind === 'ledger_verification' && state === 'done');
  return ledgerVerificationSchema.safeParse(last?.result).data;
}

function LedgerPanel() {
  const ledger = useCall('readLedger', { query: { limit: 1 } }, { refetchInterval: REFRESH_MS });
  const verified = useLastVerification();
  if (ledger.error) return <ErrorNote error={ledger.error} onRetry={() => void ledger.refetch()} />;
  if (!ledger.data) return <Panel title="Ledger" health="idle" says="Asking…" />;
  const { head, total } = ledger.data;
  if (total === 0) return <Panel title="Ledger" health="idle" says="Nothing is recorded yet" />;
  // Having entries is no sign of health: only a verification is.
  const health: Health = !verified ? 'idle' : verified.ok ? 'well' : 'warning';
  return (
    <Panel
      title="Ledger"
      health={health}
      says={verified && !verified.ok ? 'Not as it was recorded' : countOf(total, 'entry', 'entries')}
    >
      <p>
        Root <DigestChip digest={head.root} label="root of the ledger" />
      </p>
      <p>
        {verified ? (
          <>
            <Link to="/ledger">Verified</Link> <TimeText at={verified.checked_at} />, up to entry{' '}
            {formatCount(verified.size)}
          </>
        ) : (
          <Link to="/ledger">Verify it</Link>
        )}
      </p>
    </Panel>
  );
}

const NO_ROOM: Record<NonNullable<Storage['no_room']>, string> = {
  data_cap_reached: 'The archive is full',
  disk_nearly_full: 'The disk is nearly full',
};

function RoomPanel({ storage }: { storage: Storage }) {
  const { held_bytes, cap_bytes, free_bytes, no_room } = storage;
  return (
    <Panel
      title="Room"
      health={no_room ? 'warning' : 'well'}
      says={no_room ? NO_ROOM[no_room] : 'There is room'}
    >
      <Meter label="Bytes held against the archive’s limit" value={held_bytes} max={cap_bytes} />
      <p>
        {formatBytes(held_bytes)} of <Link to="/settings">{formatBytes(cap_bytes)}</Link> held
      </p>
      <p>{formatBytes(free_bytes)} free on the disk</p>
    </Panel>
  );
}
