import { Link } from 'react-router';
import type { Event } from '../../../../shared/collection/event.ts';
import { failureWords } from '../../../../shared/collection/retrievalWords.ts';
import { useCall } from '../../api/useCall.ts';
import { PageThumbnail } from '../../components/content/PagePictures.tsx';
import { StateBadge, TimeText } from '../../components/data/Values.tsx';
import { VirtualList } from '../../components/data/VirtualList.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { countOf, dayOf, formatCount } from '../../format.ts';
import { useDisplaySettings } from '../../state/displaySettings.ts';
import { type SeenEvents, useSeenEvents } from '../../state/seenEvents.ts';
import { ChangeSummary, UnseenMark } from '../timeline/EventMarks.tsx';
import classes from './Overview.module.css';

const SHOWN = 8;
const REFRESH_MS = 15_000;

/** The newest events without noise, and their number since the last visit. */
export function RecentEvents({ since }: { since: string | undefined }) {
  const zone = useDisplaySettings((look) => look.zone);
  const events = useCall(
    'listEvents',
    { query: { limit: SHOWN, noise: false, summaries: true } },
    { refetchInterval: REFRESH_MS },
  );
  const recent = useCall(
    'listEvents',
    { query: { limit: 1, since, noise: false } },
    { enabled: since !== undefined },
  );
  const noise = useCall(
    'listEvents',
    { query: { limit: 1, since, noise: true } },
    { refetchInterval: REFRESH_MS },
  );
  const seen = useSeenEvents();
  return (
    <Section title="Recent changes" actions={<Link to="/timeline">Timeline</Link>}>
      {since && recent.data && (
        <p className="mb-3 compact muted">
          {recent.data.total === 0 ? (
            'No events'
          ) : (
            <Link to={`/timeline?since=${dayOf(since, zone)}&noise=false`}>
              {countOf(recent.data.total, 'event')}
            </Link>
          )}{' '}
          since your last visit, <TimeText at={since} />
        </p>
      )}
      {seen && <UnseenLine marks={seen.marks} />}
      {!!noise.data?.total && <NoiseLine count={noise.data.total} />}
      {events.error && <ErrorNote error={events.error} onRetry={() => void events.refetch()} />}
      {events.data?.total === 0 && (
        <p className="mb-3 compact muted">No changes yet. Changes to watched sources will appear here.</p>
      )}
      {events.data && events.data.total > 0 && (
        <VirtualList
          label="Newest events"
          items={events.data.items}
          keyOf={(event) => String(event.id)}
          render={(event) => (
            <EventLine
              event={event}
              isNew={seen ? seen.isUnseen(event.id) : since !== undefined && event.observed_at > since}
              isUnseen={seen?.isUnseen(event.id) ?? false}
            />
          )}
        />
      )}
    </Section>
  );
}

function UnseenLine({ marks: { unseen } }: Pick<SeenEvents, 'marks'>) {
  if (unseen === 0) return <p className="mb-3 compact muted">You have seen all changes.</p>;
  return (
    <p className="mb-3 compact muted">
      <Link to="/timeline?seen=false&noise=false">{countOf(unseen, 'unseen event')}</Link>
    </p>
  );
}

function NoiseLine({ count }: { count: number }) {
  return (
    <p className="mb-3 compact muted">
      {count === 1 ? '1 change that is' : `${formatCount(count)} changes that are`} only noise{' '}
      {count === 1 ? 'is' : 'are'} hidden. <Link to="/timeline?noise=true">Show noise</Link>
    </p>
  );
}

interface EventLineProps {
  event: Event;
  isNew: boolean;
  isUnseen: boolean;
}

function EventLine({ event, isNew, isUnseen }: EventLineProps) {
  return (
    <div className={`${classes.line} grid gap-3 baseline`} data-new={isNew || undefined}>
      <StateBadge kind="event" value={event.event_type} />
      {event.page !== null && (
        <span className={classes.thumbnail}>
          <PageThumbnail page={event.page} alt="The page as it was drawn" size="row" />
        </span>
      )}
      <span className={classes.event}>
        <Link to={`/timeline/${event.id}`} className={`${classes.name} clamp quiet-link`}>
          {event.source.name || event.source.url}
        </Link>
        <span className={`${classes.change} line stretch gap-3 small nowrap`}>
          {isUnseen && <UnseenMark />}
          <ChangeSummary event={event} />
        </span>
      </span>
      <span className="muted small">
        <TimeText at={event.observed_at} />
      </span>
    </div>
  );
}

/** The packs received last. */
export function RecentPacks() {
  const packs = useCall('listPacks', { query: { limit: SHOWN } }, { refetchInterval: REFRESH_MS });
  return (
    <Section title="New packs" actions={<Link to="/packs">All packs</Link>}>
      {packs.error && <ErrorNote error={packs.error} onRetry={() => void packs.refetch()} />}
      {packs.data?.total === 0 && (
        <p className="mb-3 compact muted">No packs yet. The newest packs will appear here.</p>
      )}
      {packs.data && packs.data.total > 0 && (
        <VirtualList
          label="Newest packs"
          items={packs.data.items}
          keyOf={(pack) => pack.id}
          render={(pack) => (
            <div className={`${classes.line} grid gap-3 baseline`}>
              <StateBadge kind="outcome" value={pack.outcome} />
              <Link to={`/packs/${pack.id}`} className={`${classes.name} clamp quiet-link`}>
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

const SHOWN_FAILING = 5;

/** The sources whose checks fail, with the reason. Renders nothing if there are none. */
export function FailingSection() {
  const status = useCall('readStatus');
  const failing = status.data?.failing ?? [];
  if (failing.length === 0) return null;
  return (
    <Section title="Failing sources" actions={<Link to="/sources">Sources</Link>}>
      <VirtualList
        label="Failing sources"
        items={failing.slice(0, SHOWN_FAILING)}
        keyOf={({ source }) => source.id}
        render={({ source, error, status: answered, since, consecutive }) => (
          <div className={`${classes.failing} cluster baseline gap-4`}>
            <Link to={`/sources/${source.id}`} className={`${classes.name} clamp quiet-link`}>
              {source.name || source.url}
            </Link>
            <span className="compact warn">{failureWords(error ?? 'http_error', answered)}</span>
            <span className="muted small">
              {consecutive > 1 ? `${countOf(consecutive, 'time')} in a row, first` : 'Failed'}{' '}
              <TimeText at={since} />
            </span>
          </div>
        )}
      />
      {failing.length > SHOWN_FAILING && (
        <p className="mb-3 compact muted">…and {formatCount(failing.length - SHOWN_FAILING)} more.</p>
      )}
    </Section>
  );
}
