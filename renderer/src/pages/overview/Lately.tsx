import { Link } from 'react-router';
import type { Event } from '../../../../shared/event.ts';
import { useCall } from '../../api/useCall.ts';
import { StateBadge } from '../../components/data/StateBadge.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { VirtualList } from '../../components/data/VirtualList.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { countOf } from '../../format/size.ts';
import { dayOf } from '../../format/time.ts';
import { useLook } from '../../state/look.ts';
import classes from './Lately.module.css';

const SHOWN = 8;
const REFRESH_MS = 15_000;

/** The newest events, and how many there were since the last visit. */
export function LatestEvents({ since }: { since: string | undefined }) {
  const zone = useLook((look) => look.zone);
  const events = useCall('listEvents', { query: { limit: SHOWN } }, { refetchInterval: REFRESH_MS });
  const fresh = useCall('listEvents', { query: { limit: 1, since } }, { enabled: since !== undefined });
  return (
    <Section title="What changed" actions={<Link to="/timeline">Timeline</Link>}>
      {since && fresh.data && (
        <p className={classes.since}>
          {fresh.data.total === 0 ? (
            'Nothing'
          ) : (
            <Link to={`/timeline?since=${dayOf(since, zone)}`}>{countOf(fresh.data.total, 'event')}</Link>
          )}{' '}
          since your last visit, <TimeText at={since} />
        </p>
      )}
      {events.error && <ErrorNote error={events.error} onRetry={() => void events.refetch()} />}
      {events.data?.total === 0 && (
        <p className={classes.none}>Nothing yet. Each change of a watched source will be told here.</p>
      )}
      {events.data && events.data.total > 0 && (
        <VirtualList
          label="The newest events"
          items={events.data.items}
          keyOf={(event) => String(event.id)}
          render={(event) => (
            <EventLine event={event} isNew={since !== undefined && event.observed_at > since} />
          )}
        />
      )}
    </Section>
  );
}

function EventLine({ event, isNew }: { event: Event; isNew: boolean }) {
  return (
    <div className={classes.line} data-new={isNew || undefined}>
      <StateBadge kind="event" value={event.event_type} />
      <Link to={`/timeline/${event.id}`} className={classes.name}>
        {event.source.name || event.source.url}
      </Link>
      <span className="muted small">
        <TimeText at={event.observed_at} />
      </span>
    </div>
  );
}

/** The packs that arrived last. */
export function LatestPacks() {
  const packs = useCall('listPacks', { query: { limit: SHOWN } }, { refetchInterval: REFRESH_MS });
  return (
    <Section title="New packs" actions={<Link to="/packs">All packs</Link>}>
      {packs.error && <ErrorNote error={packs.error} onRetry={() => void packs.refetch()} />}
      {packs.data?.total === 0 && (
        <p className={classes.none}>None yet. The newest packs of the archive will be listed here.</p>
      )}
      {packs.data && packs.data.total > 0 && (
        <VirtualList
          label="The newest packs"
          items={packs.data.items}
          keyOf={(pack) => pack.id}
          render={(pack) => (
            <div className={classes.line}>
              <StateBadge kind="outcome" value={pack.outcome} />
              <Link to={`/packs/${pack.id}`} className={classes.name}>
                {pack.title}
              </Link>
              <span className="muted small">
                <TimeText at={pack.evidence.received_at} />
              </span>
            </div>
          )}
        />
      )}
    </Section>
  );
}
