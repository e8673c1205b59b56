import { IconFilterOff } from '@tabler/icons-react';
import { type Event } from '../../../../shared/collection/event.ts';
import { eventMeaning } from '../../../../shared/collection/eventText.ts';
import { BROWSER, isHandedIn } from '../../../../shared/collection/observers.ts';
import { TimeText } from '../../components/data/Values.tsx';
import { LazyTooltip } from '../../components/feedback/LazyTooltip.tsx';
import classes from './event.module.css';

/** What an event means, in one line: for a change, what changed, once the node has summarized it. */
export function ChangeSummary({ event }: { event: Event }) {
  // The text of the source may run in the other direction.
  if (event.summary) return <bdi className={`${classes.summary} cut`}>{event.summary}</bdi>;
  return <span className="cut muted">{eventMeaning(event)}</span>;
}

/** Marks a change that is fully explained by noise rules, or outside the watched part. */
export function NoiseMark({ event: { is_noise, outside } }: { event: Pick<Event, 'is_noise' | 'outside'> }) {
  if (!is_noise) return null;
  return (
    <LazyTooltip
      label={
        outside
          ? 'Nothing changed in the part of this source that is watched. Both versions are kept.'
          : 'The noise rules of this source explain the entire change. Both versions are kept.'
      }
      maxWidth={280}
    >
      {(trigger) => (
        <span {...trigger} className="line inline gap-1 muted">
          <IconFilterOff size={13} stroke={1.8} aria-hidden />
          {outside ? 'outside' : 'noise'}
        </span>
      )}
    </LazyTooltip>
  );
}

interface UnseenMarkProps {
  /** Marks the event as seen. Without it, the mark is only text. */
  onSeen?: () => void;
}

/** Marks an event that the owner has not seen, with a dot and a word. */
export function UnseenMark({ onSeen }: UnseenMarkProps) {
  if (!onSeen)
    return <span className={`${classes.unseen} accent strong line inline gap-1 nowrap`}>unseen</span>;
  return (
    <button
      type="button"
      className={`${classes.unseen} accent strong line inline gap-1 nowrap`}
      aria-label="unseen: mark as seen"
      title="Mark as seen"
      onClick={onSeen}
    >
      unseen
    </button>
  );
}

/**
 * The time when this node retrieved the object and, for a third party's capture, the time they state. The two
 * are always shown separately: only the first is the node's own observation, and the timeline is ordered by
 * it.
 */
export function EventTimes({
  event,
}: {
  event: Pick<Event, 'observed_at' | 'original_observed_at' | 'observer'>;
}) {
  // This node drew it seconds before it recorded it.
  if (event.observer === BROWSER && event.original_observed_at) {
    return (
      <span className="nowrap">
        drawn <TimeText at={event.original_observed_at} />
      </span>
    );
  }
  return (
    <>
      {event.original_observed_at && (
        <span className="nowrap">
          {isHandedIn(event.observer) ? 'seen' : 'captured'} <TimeText at={event.original_observed_at} />
        </span>
      )}
      <span className="nowrap">
        {isHandedIn(event.observer) ? 'handed in' : 'retrieved'} <TimeText at={event.observed_at} />
      </span>
    </>
  );
}
