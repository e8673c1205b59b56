import { Button, Group } from '@mantine/core';
import { IconCircleCheck, IconCircleDashed, IconShieldX } from '@tabler/icons-react';
import type { Audit } from '../../../../shared/ledger/fixity.ts';
import type { Job } from '../../../../shared/node/job.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import {
  AuditButton,
  DamagedObjects,
  type FixityStatus,
  RepairHelp,
  useFixity,
} from '../../components/content/Fixity.tsx';
import { type Column, DataTable } from '../../components/data/DataTable.tsx';
import { StateBadge, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { copyPlace, countOf, formatBytes, formatCount } from '../../format.ts';
import { useFollowedJob, useReloadAfterJobs } from '../../state/jobs.ts';
import { SettingsGroup } from './SettingsForm.tsx';

const SHOWN_AUDITS = 10;

/** Integrity of the stored bytes: current damage, a button to start an audit, and past audits. */
export function StoredBytes() {
  const { fixity, error, refetch } = useFixity();
  return (
    <SettingsGroup
      id="stored-bytes"
      title="Integrity check"
      meaning="Every object is named by its digest. An integrity check reads and hashes it again to detect damage on disk."
    >
      {error !== null && error !== undefined && <ErrorNote error={error} onRetry={refetch} />}
      {fixity && <Health fixity={fixity} />}
      {fixity && fixity.damaged_objects > 0 && (
        <div>
          <DamagedObjects fixity={fixity} />
          <RepairHelp />
        </div>
      )}
      <AuditButton />
      <History />
    </SettingsGroup>
  );
}

function Health({
  fixity: { last_completed_audit_at: last, checked, damaged_objects },
}: {
  fixity: FixityStatus;
}) {
  const health = damaged_objects > 0 ? 'bad' : last ? 'well' : 'idle';
  const Icon = { bad: IconShieldX, well: IconCircleCheck, idle: IconCircleDashed }[health];
  return (
    <div>
      <p className="large line gap-2 strong" data-health={health}>
        <Icon size={18} aria-hidden />
        {health === 'bad' && `${countOf(damaged_objects, 'object is', 'objects are')} damaged`}
        {health === 'well' && 'No known damage'}
        {health === 'idle' && 'Not yet re-checked completely'}
      </p>
      <p className="small muted">
        {last ? (
          <>
            All {countOf(checked, 'object')} were last re-checked <TimeText at={last} />.
          </>
        ) : (
          'No integrity check completed yet.'
        )}
      </p>
    </div>
  );
}

const COLUMNS: readonly Column<Audit>[] = [
  {
    id: 'started',
    header: 'Started',
    cell: (audit) => (
      <>
        <TimeText at={audit.started_at} />
        <div className="muted small" data-show="narrow">
          by {startedBy(audit)}
        </div>
      </>
    ),
  },
  { id: 'by', header: 'By', hideBelow: 'narrow', cell: startedBy },
  {
    id: 'state',
    header: 'Result',
    cell: (audit) => (
      <>
        <StateBadge
          kind="audit"
          value={audit.completed ? 'complete' : audit.ended_at === null ? 'running' : 'broken_off'}
        />
        <div className="muted small" data-show="narrow">
          {readBy(audit)}
        </div>
      </>
    ),
  },
  {
    id: 'read',
    header: 'Read',
    align: 'end',
    hideBelow: 'narrow',
    cell: readBy,
  },
  {
    id: 'damaged',
    header: 'New damage',
    align: 'end',
    cell: ({ damaged }) => (damaged > 0 ? <strong className="bad">{formatCount(damaged)}</strong> : '0'),
  },
];

function startedBy({ started_by }: Audit): string {
  return started_by === 'owner' ? 'you' : 'schedule';
}

function readBy({ checked, bytes }: Audit): string {
  return `${countOf(checked, 'object')}, ${formatBytes(bytes)}`;
}

function History() {
  const audits = useCall('listAudits', { query: { limit: SHOWN_AUDITS } });
  if (audits.error) return <ErrorNote error={audits.error} onRetry={() => void audits.refetch()} />;
  if (!audits.data?.total) return null;
  return (
    <DataTable
      caption="Recent integrity checks"
      columns={COLUMNS}
      rows={audits.data.items}
      rowKey={({ id }) => id}
    />
  );
}

const OFFLOAD_JOBS = ['offload', 'bring_back', 'mark_lost'] as const;

/** What is stored on this disk and what only in copies, and the button that restores it. Shown once something was offloaded. */
export function OffloadedObjects() {
  const state = useCall('readOffload');
  useReloadAfterJobs(OFFLOAD_JOBS, 'bringBack');
  const back = useSave('bringBack', () => ({}));
  const job = useFollowedJob((back.data as Job | undefined)?.id);
  if (state.error) return <ErrorNote error={state.error} onRetry={() => void state.refetch()} />;
  if (!state.data || state.data.offloaded_objects === 0) return null;
  const { offloaded_objects, offloaded_bytes, local_bytes, only_in } = state.data;
  return (
    <div>
      <h3>Where objects are stored</h3>
      <p>
        {formatBytes(local_bytes)} are on this disk. {countOf(offloaded_objects, 'object')},{' '}
        {formatBytes(offloaded_bytes)}, are offloaded and read from a copy.
      </p>
      <ul>
        {only_in
          .filter(({ objects }) => objects > 0)
          .map(({ copy, target, objects }) => (
            <li key={copy}>
              {countOf(objects, 'object is', 'objects are')} only in {copyPlace(target)}. Without that copy,
              they cannot be read, verified or exported.
            </li>
          ))}
      </ul>
      <Group gap="xs">
        <Button
          variant="default"
          size="compact-sm"
          loading={back.isPending || job?.state === 'running'}
          onClick={() => back.mutate()}
        >
          Restore all to this disk
        </Button>
      </Group>
      {back.error && <ErrorNote error={back.error} />}
      {job?.error && <p className="small">{job.error}</p>}
    </div>
  );
}
