import { IconCircleCheck, IconCircleDashed, IconShieldX } from '@tabler/icons-react';
import { useEffect, useRef } from 'react';
import { useLocation } from 'react-router';
import type { Audit } from '../../../../shared/ledger/fixity.ts';
import { useCall } from '../../api/useCall.ts';
import { AuditButton } from '../../components/content/fixity/AuditButton.tsx';
import { DamagedObjects, RepairHelp } from '../../components/content/fixity/DamagedObjects.tsx';
import { type FixityStatus, useFixity } from '../../components/content/fixity/useFixity.ts';
import { type Column, DataTable } from '../../components/data/DataTable.tsx';
import { StateBadge } from '../../components/data/StateBadge.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf, formatBytes, formatCount } from '../../format/size.ts';
import classes from './SettingsPage.module.css';

const SHOWN_AUDITS = 10;
/** The URL fragment of this section. */
const STORED_BYTES = '#stored-bytes';

/** Integrity of the stored bytes: current damage, a button to start an audit, and past audits. */
export function StoredBytes() {
  const { fixity, error, refetch } = useFixity();
  const section = useRef<HTMLElement>(null);
  const { hash } = useLocation();
  useEffect(() => {
    if (hash !== STORED_BYTES) return;
    // Runs after the scroll to the top that every navigation does.
    const frame = requestAnimationFrame(() => section.current?.scrollIntoView());
    return () => cancelAnimationFrame(frame);
  }, [hash]);
  return (
    <section ref={section} className={classes.group} aria-labelledby="stored-bytes-now">
      <div>
        <h2 id="stored-bytes-now">Integrity check</h2>
        <p className="muted small">
          Every object is named by its digest. An integrity check reads and hashes it again to detect damage
          on disk.
        </p>
      </div>
      <div className={classes.fields}>
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
      </div>
    </section>
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
      <p className={classes.health} data-health={health}>
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
    cell: ({ damaged }) =>
      damaged > 0 ? <strong className={classes.bad}>{formatCount(damaged)}</strong> : '0',
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
