import { Link } from 'react-router';
import { useCall } from '../../api/useCall.ts';
import { useFixity } from '../../components/content/fixity/useFixity.ts';
import { TimeText } from '../../components/data/TimeText.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf } from '../../format/size.ts';
import { useIsOwner } from '../../state/session.ts';
import { type HealthStatus, Panel } from './HealthPanel.tsx';

/** The known condition of the stored bytes. */
export function FixityPanel() {
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
