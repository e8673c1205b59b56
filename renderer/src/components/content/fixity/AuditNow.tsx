import { Button } from '@mantine/core';
import { IconShieldSearch } from '@tabler/icons-react';
import { auditResultSchema } from '../../../../../shared/fixity.ts';
import type { Job } from '../../../../../shared/job.ts';
import { countOf, formatBytes } from '../../../format/size.ts';
import { TimeText } from '../../data/TimeText.tsx';
import { ErrorNote } from '../../feedback/ErrorNote.tsx';
import { NodeJobBar } from '../../feedback/NodeJobBar.tsx';
import classes from './AuditNow.module.css';
import { useAudit } from './useAudit.ts';

/** Re-hashes everything that is stored, on a click; how far it is, and what came of it. */
export function AuditNow() {
  const { job, start, isStarting, error } = useAudit();
  const isRunning = job?.state === 'running';
  return (
    <div className={classes.audit}>
      {isRunning ? (
        <NodeJobBar title="Re-hashing what is stored" job={job} jobId={job.id} unit="bytes" />
      ) : (
        <Button
          variant="default"
          leftSection={<IconShieldSearch size={16} aria-hidden />}
          loading={isStarting}
          onClick={start}
        >
          Audit now
        </Button>
      )}
      {error !== null && error !== undefined && <ErrorNote error={error} onRetry={start} />}
      {job && !isRunning && (
        <p className="small">
          <output>{endWords(job)}</output>{' '}
          <span className="muted">{job.ended_at && <TimeText at={job.ended_at} />}</span>
        </p>
      )}
    </div>
  );
}

function endWords({ state, error, result }: Job): string {
  if (state === 'failed') return error ?? 'The audit failed. Try again.';
  if (state === 'cancelled') return 'The audit was stopped. What it found until then is recorded.';
  const found = auditResultSchema.safeParse(result).data;
  if (!found) return '';
  const read = `${countOf(found.checked, 'object')}, ${formatBytes(found.bytes)}, were read and hashed`;
  const mended =
    found.restored_objects > 0 ? ` ${countOf(found.restored_objects, 'object')} mended since.` : '';
  return found.damaged_objects === 0
    ? `${read}: every byte is what it was.${mended}`
    : `${read}: ${countOf(found.damaged_objects, 'object')} damaged.${mended}`;
}
