import type { Event } from '../../../../../shared/collection/event.ts';
import { TimeText } from '../../../components/data/TimeText.tsx';

/**
 * The time when this node retrieved the object and, for a third party's capture, the time they state. The two
 * are always shown separately: only the first is the node's own observation, and the timeline is ordered by
 * it.
 */
export function EventTimes({ event }: { event: Pick<Event, 'observed_at' | 'original_observed_at'> }) {
  return (
    <>
      {event.original_observed_at && (
        <span className="nowrap">
          captured <TimeText at={event.original_observed_at} />
        </span>
      )}
      <span className="nowrap">
        retrieved <TimeText at={event.observed_at} />
      </span>
    </>
  );
}
