import { Button } from '@mantine/core';
import { IconShieldSearch } from '@tabler/icons-react';
import { auditResultSchema } from '../../../../../shared/ledger/fixity.ts';
import type { Job } from '../../../../../shared/node/job.ts';
import { countOf, formatBytes } from '../../../format/size.ts';
import { TimeText } from '../../data/TimeText.tsx';
import { ErrorNote } from '../../feedback/ErrorNote.tsx';
import { NodeJobBar } from '../../feedback/NodeJobBar.tsx';
import classes from './AuditButton.module.css';
import { useAudit } from './useAudit.ts';

/** Starts an audit, which re-hashes everything that is stored, and shows its progress and result. */
export function AuditButton() {
  const { job, start, isStarting, error } = useAudit();
  const isRunning = job?.state === 'running';
  return (
    <div className={classes.audit}>
      {isRunning ? (
        <NodeJobBar title="Re-hashing stored objects" job={job} jobId={job.id} unit="bytes" />
      ) : (
        <Button
          variant="default"
          leftSection={<IconShieldSearch size={16} aria-hidden />}
          loading={isStarting}
          onClick={start}
        >
          Start integrity check
        </Button>
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
  if (state === 'cancelled') return 'The integrity check was stopped. Its findings so far are recorded.';
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
