import { IconAlertTriangle, IconShieldSearch } from '@tabler/icons-react';
import { Link } from 'react-router';
import { auditResultSchema, type Fixity } from '../../../../shared/ledger/fixity.ts';
import type { Job } from '../../../../shared/node/job.ts';
import { useCall, useReloadAfter, useSave } from '../../api/useCall.ts';
import { countOf, exactBytes, formatBytes, formatCount } from '../../format.ts';
import { useFollowedJob, useJobs } from '../../state/jobs.ts';
import { useIsOwner } from '../../state/session.ts';
import { DigestChip, StateBadge, TimeText } from '../data/Values.tsx';
import { VirtualList } from '../data/VirtualList.tsx';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import { NodeJobBar } from '../feedback/JobsTray.tsx';
import { IconButton } from '../forms/buttons.tsx';
import classes from './content.module.css';

/** Starts an audit, which re-hashes everything that is stored, and shows its progress and result. */
export function AuditButton() {
  const { job, start, isStarting, error } = useAudit();
  const isRunning = job?.state === 'running';
  return (
    <div className={`${classes.audit} stack gap-2`}>
      {isRunning ? (
        <NodeJobBar title="Re-hashing stored objects" job={job} jobId={job.id} unit="bytes" />
      ) : (
        <IconButton icon={IconShieldSearch} loading={isStarting} onClick={start}>
          Start integrity check
        </IconButton>
      )}
      {error !== null && error !== undefined && <ErrorNote error={error} onRetry={start} />}
      {job && !isRunning && (
        <p className="small">
          <output>{endText(job)}</output>{' '}
          <span className="muted">{job.ended_at && <TimeText at={job.ended_at} />}</span>
        </p>
      )}
    </div>
  );
}

function endText({ state, error, result }: Job): string {
  if (state === 'failed') return error ?? 'The integrity check failed. Try again.';
  if (state === 'cancelled') return 'The integrity check was stopped. Its results so far are recorded.';
  const found = auditResultSchema.safeParse(result).data;
  if (!found) return '';
  if (!found.database.ok)
    return `The database is damaged (${found.database.findings[0] ?? 'it cannot be read'}). Restore it from a copy.`;
  const read = `${countOf(found.checked, 'object')} (${formatBytes(found.bytes)}) re-hashed`;
  const repaired =
    found.restored_objects > 0 ? ` ${countOf(found.restored_objects, 'object')} repaired since.` : '';
  const unnamed =
    found.lost_and_found_objects > 0
      ? ` ${countOf(found.lost_and_found_objects, 'file')} in lost-and-found that no record refers to.`
      : '';
  return found.damaged_objects === 0
    ? `${read}. No damage found.${repaired}${unnamed}`
    : `${read}. ${countOf(found.damaged_objects, 'object')} damaged.${repaired}${unnamed}`;
}

/** The running audit, or the last one seen on this page, and a function to start one. */
function useAudit(): { job: Job | undefined; start: () => void; isStarting: boolean; error: unknown } {
  const known = useJobs(({ node }) =>
    Object.values(node)
      .filter(({ kind }) => kind === 'audit')
      .reduce<Job | undefined>(
        (last, job) => (!last || job.started_at > last.started_at ? job : last),
        undefined,
      ),
  );
  const job = useFollowedJob(known?.id);
  useReloadAfter(job, 'startAudit');
  const start = useSave('startAudit', () => ({}), {
    onSaved: (answer) => {
      if ('id' in answer) useJobs.getState().updateNodeJob(answer);
    },
  });
  return { job, start: () => start.mutate(), isStarting: start.isPending, error: start.error };
}

interface DamagedObjectsProps {
  fixity: Pick<FixityStatus, 'damaged' | 'damaged_objects'>;
  limit?: number;
}

/** The damaged objects: what is wrong, since when, and what the disk holds instead. */
export function DamagedObjects({ fixity: { damaged, damaged_objects }, limit = 100 }: DamagedObjectsProps) {
  const shown = damaged.slice(0, limit);
  const more = damaged_objects - shown.length;
  return (
    <>
      <VirtualList
        label="Damaged objects"
        items={shown}
        keyOf={({ sha256 }) => sha256}
        render={(object) => <Damaged object={object} />}
      />
      {more > 0 && <p className="small muted">…and {formatCount(more)} more.</p>}
    </>
  );
}

const SHOWN_FILES = 5;

/** Says that files of a pack are damaged or missing, and what to do. Nothing if none is known to be. */
export function DamagedFiles({ pack, kind }: { pack: string; kind: 'pack' | 'set' }) {
  const isOwner = useIsOwner();
  const answer = useCall(
    'listDamagedFiles',
    { params: { id: pack }, query: { limit: SHOWN_FILES } },
    { refetchInterval: REFRESH_MS },
  );
  if (!answer.data?.total) return null;
  const { items, total } = answer.data;
  return (
    <div role="alert" className="card card-bad mb-5 stack gap-2">
      <p className="line gap-2 strong">
        <IconAlertTriangle size={18} aria-hidden />
        {total === 1 ? `A file of this ${kind} is` : `${formatCount(total)} files of this ${kind} are`}{' '}
        damaged or missing here
      </p>
      <ul className="plain stack gap-1">
        {items.map((file) => (
          <li key={`${file.pack} ${file.path}`} className="cluster baseline gap-3">
            <span className="mono wrap-anywhere">{file.path}</span>
            <StateBadge kind="damage" value={file.problem} />
            <span className="muted small">
              found <TimeText at={file.at} />
            </span>
          </li>
        ))}
      </ul>
      {total > items.length && <p className="small">…and {formatCount(total - items.length)} more.</p>}
      <p className="small">
        The record and its digests are intact, so the right bytes can be recognised.{' '}
        {isOwner ? (
          <>
            Publish the same {kind} again, or put the file back from a backup or a copy.{' '}
            <Link to="/settings#stored-bytes">How to repair</Link>
          </>
        ) : (
          'Tell the owner of this node, or take the file from elsewhere and verify it.'
        )}
      </p>
    </div>
  );
}

function Damaged({
  object: { sha256, bytes, problem, found, since, ledger_entry },
}: {
  object: DamageEntry;
}) {
  return (
    <div className={`${classes.object} cluster baseline gap-4`}>
      <DigestChip digest={sha256} label="digest of the damaged object" />
      <StateBadge kind="damage" value={problem} />
      <span className="muted small numeric">{exactBytes(bytes)}</span>
      {found && (
        <span className="small">
          found instead: <DigestChip digest={found} label="digest of the bytes found instead" />
        </span>
      )}
      <span className="muted small">
        found <TimeText at={since} />,{' '}
        <Link to={`/ledger?from=${ledger_entry}`}>entry {formatCount(ledger_entry)}</Link>
      </span>
    </div>
  );
}

/** Repair instructions for the owner. */
export function RepairHelp() {
  return (
    <div className="mt-3 stack gap-2 compact">
      <p>
        <strong>How to repair.</strong> You can repair an object with the correct bytes from anywhere, because
        the digest verifies them. Do one of the following:
      </p>
      <ul>
        <li>check the source again, if it still serves the same bytes;</li>
        <li>publish the same pack again, or import the same captures again;</li>
        <li>
          restore the file from a backup to <code>blobs/ab/cd/…</code> in the data folder, under its digest.
          The node checks this folder every ten minutes.
        </li>
      </ul>
      <p>
        Damaged bytes are never deleted. The node moves them aside. If several objects are damaged, check the
        disk.
      </p>
    </div>
  );
}

const REFRESH_MS = 15_000;
/** How many recent audits are searched for the last complete one. */
const AUDITS = 20;
const DAMAGES = 100;

type DamageEntry = Fixity['damaged'][number];

export interface FixityStatus extends Pick<Fixity, 'checked' | 'damaged_objects'> {
  /** Null if there was none. Undefined if the reader may not see it. */
  last_completed_audit_at: string | null | undefined;
  damaged: readonly DamageEntry[];
}

/**
 * The condition of the stored bytes. A node without watched sources has no collection status (it answers 503), so its
 * damages and audits are requested directly.
 */
export function useFixity(): { fixity: FixityStatus | undefined; error: unknown; refetch: () => void } {
  const isOwner = useIsOwner();
  const sources = useCall('listSources', { query: { limit: 1, paused: false } });
  const watches = sources.data && sources.data.total > 0;
  const refresh = { refetchInterval: REFRESH_MS };
  const status = useCall('readStatus', {}, { ...refresh, enabled: watches === true });
  const damages = useCall(
    'listDamages',
    { query: { limit: DAMAGES } },
    { ...refresh, enabled: watches === false },
  );
  const audits = useCall(
    'listAudits',
    { query: { limit: AUDITS } },
    { ...refresh, enabled: watches === false && isOwner },
  );
  if (watches !== false) {
    return { fixity: status.data?.fixity, error: status.error, refetch: () => void status.refetch() };
  }
  const damaged = damages.data?.items.filter(({ restored_at }) => restored_at === null);
  const last = audits.data?.items.find(({ completed }) => completed);
  return {
    fixity: damaged && {
      last_completed_audit_at: isOwner ? (last?.ended_at ?? null) : undefined,
      checked: last?.checked ?? 0,
      damaged_objects: damaged.length,
      damaged: damaged.map(({ at, ...rest }) => ({ ...rest, since: at })),
    },
    error: damages.error,
    refetch: () => void damages.refetch(),
  };
}
