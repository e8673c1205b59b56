import { memo } from 'react';
import { Link } from 'react-router';
import { type Event, SELF } from '../../../../../shared/collection/event.ts';
import { ObserverText } from '../../../components/content/retrieval/ObserverText.tsx';
import { PageLabelNote } from '../../../components/content/retrieval/PageLabelNote.tsx';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { ChangeSummary } from '../ChangeSummary.tsx';
import { EventTimes } from '../event/EventTimes.tsx';
import { NoiseMark } from '../NoiseMark.tsx';
import { UnseenMark } from '../UnseenMark.tsx';
import classes from './EventRow.module.css';

export interface EventRowProps {
  /** Undefined while it is loading. */
  event: Event | undefined;
  /** The URL of the event, with the list's filters preserved. */
  to: string;
  isOpen: boolean;
  /** Marks the event as seen. Set if the owner has not seen it. */
  onSeen: ((id: number) => void) | undefined;
}

/** An event in two lines: type, source and time, then what changed. */
export const EventRow = memo(function EventRow({ event, to, isOpen, onSeen }: EventRowProps) {
  if (!event) return <div className={classes.awaited} aria-hidden />;
  const { source } = event;
  return (
    <div className={classes.row} data-open={isOpen || undefined}>
      <span className={classes.badge}>
        <StateBadge kind="event" value={event.event_type} />
      </span>
      <span className={classes.source}>
        <Link to={to} className={classes.name} data-row-link aria-current={isOpen ? 'true' : undefined}>
          {source.name || source.url}
        </Link>
        {source.agency && <span className={classes.agency}>{source.agency}</span>}
      </span>
      <span className={classes.times}>
        <EventTimes event={event} />
      </span>
      <span className={classes.more}>
        {onSeen && <UnseenMark onSeen={() => onSeen(event.id)} />}
        <ChangeSummary event={event} />
        {event.observer !== SELF && <ObserverText observer={event.observer} />}
        {event.page_label && <PageLabelNote label={event.page_label} />}
        {event.is_noise && <NoiseMark />}
        {event.reverts_to !== null && <span>returned to an older version</span>}
      </span>
    </div>
  );
});
