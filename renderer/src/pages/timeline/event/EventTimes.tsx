import type { Event } from '../../../../../shared/event.ts';
import { TimeText } from '../../../components/data/TimeText.tsx';

/**
 * When this node retrieved it and, for a third party's capture, when they saw it: two facts, always apart. Only the
 * first is this node's own word, and the timeline is in its order.
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
