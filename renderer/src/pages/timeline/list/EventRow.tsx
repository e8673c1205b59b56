import { IconArrowRight } from '@tabler/icons-react';
import { memo } from 'react';
import { Link } from 'react-router';
import type { Event } from '../../../../../shared/collection/event.ts';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { EventTimes } from '../event/EventTimes.tsx';
import { ObjectDigest } from '../event/ObjectDigest.tsx';
import { ObserverText } from '../event/ObserverText.tsx';
import { PageLabelNote } from '../event/PageLabelNote.tsx';
import { NoiseMark } from '../NoiseMark.tsx';
import classes from './EventRow.module.css';

export interface EventRowProps {
  /** Undefined while it is loading. */
  event: Event | undefined;
  /** The URL of the event, with the list's filters preserved. */
  to: string;
  isOpen: boolean;
}

/** An event in two lines: type and source, then observer, time and digests. */
export const EventRow = memo(function EventRow({ event, to, isOpen }: EventRowProps) {
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
        <ObserverText observer={event.observer} />
        {event.page_label && <PageLabelNote label={event.page_label} />}
        {event.is_noise && <NoiseMark />}
        {event.reverts_to !== null && <span>returned to an older version</span>}
      </span>
      <span className={classes.digests}>
        <Digests event={event} />
      </span>
    </div>
  );
});

function Digests({ event: { sha256, previous_sha256 } }: { event: Event }) {
  return (
    <>
      {previous_sha256 && <ObjectDigest sha256={previous_sha256} label="digest before" />}
      {previous_sha256 && sha256 && <IconArrowRight size={13} aria-hidden />}
      {sha256 && <ObjectDigest sha256={sha256} label="digest after" />}
    </>
  );
}
