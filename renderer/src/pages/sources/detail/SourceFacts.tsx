import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { failureHint, failureWords } from '../../../../../shared/collection/failureWords.ts';
import type { Schedule } from '../../../../../shared/collection/schedule/scheduleFields.ts';
import { useCall } from '../../../api/useCall.ts';
import { ObjectDigest } from '../../../components/content/object/ObjectDigest.tsx';
import { PageLabelNote } from '../../../components/content/retrieval/PageLabelNote.tsx';
import { Facts } from '../../../components/data/Facts.tsx';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { intervalText } from '../../../format/interval.ts';
import { countOf } from '../../../format/size.ts';
import { useIsOwner } from '../../../state/session.ts';
import { CheckStrip } from '../CheckStrip.tsx';
import { hoursText, zoneOf } from '../schedule/scheduleText.ts';
import type { VisibleSource } from '../useSources.ts';
import classes from './SourceFacts.module.css';

/** The state and the settings of a source. */
export function SourceFacts({ source }: { source: VisibleSource }) {
  return (
    <>
      <Failing source={source} />
      {source.page_label && (
        <p className={classes.label}>
          <PageLabelNote label={source.page_label} withReason />
        </p>
      )}
      <div className={classes.facts}>
        <Facts
          facts={[
            ['Agency', source.agency || <Nothing key="agency">none</Nothing>],
            ['Tags', source.tags.length > 0 ? source.tags.join(', ') : <Nothing key="tags">none</Nothing>],
            ['Last check', lastCheck(source)],
            ['Next check', nextCheck(source)],
            [
              'Last checks',
              source.recent_checks && source.recent_checks.length > 0 && (
                <CheckStrip key="strip" checks={source.recent_checks} />
              ),
            ],
            source.every
              ? ['Times', `${source.every} (${zoneOf(scheduleOfSource(source))})`]
              : ['Interval', <Interval key="every" minutes={source.every_minutes} />],
            ['Active hours', source.active_hours && hoursText(source.active_hours)],
            [
              'Found in',
              source.found_in && <FoundIn key="found" source={source} foundIn={source.found_in} />,
            ],
            ['Current version', currentVersion(source)],
            ['Last event', lastEvent(source)],
            [
              'Size limit',
              source.max_object_mb !== null &&
                source.max_object_mb !== undefined &&
                `${source.max_object_mb} MB`,
            ],
            ['robots.txt', source.ignore_robots && 'ignored'],
            ['Headers', headerNames(source)],
            ['Noise rules', source.noise_rules && source.noise_rules.length > 0 && source.noise_rules.length],
            [
              source.paused && !source.last_checked_at ? 'Added' : 'Watched since',
              <TimeText key="since" at={source.added_at} />,
            ],
          ]}
        />
      </div>
    </>
  );
}

function Failing({ source }: { source: VisibleSource }) {
  const { last_error, last_status = null, consecutive_failures = 0, failing_since } = source;
  if (!last_error) return null;
  return (
    <div className={classes.failing}>
      <p>
        <strong>{failureWords(last_error, last_status)}</strong>
        {consecutive_failures > 1 && `, ${countOf(consecutive_failures, 'time')} in a row`}
        {failing_since && (
          <>
            , first <TimeText at={failing_since} />
          </>
        )}
        .
      </p>
      <p className="small">{failureHint(last_error)}</p>
    </div>
  );
}

function lastCheck({ last_checked_at, captures_only }: VisibleSource): ReactNode {
  if (last_checked_at) return <TimeText key="last" at={last_checked_at} />;
  return <Nothing key="last">{captures_only ? 'never: known by captures only' : 'never'}</Nothing>;
}

function nextCheck({ next_check_at, paused, removed }: VisibleSource): ReactNode {
  if (next_check_at) return <TimeText key="next" at={next_check_at} />;
  if (removed) return 'none: the source is no longer watched';
  return paused ? 'none: the source is paused' : null;
}

function Interval({ minutes }: { minutes: number | null }) {
  const isOwner = useIsOwner();
  const settings = useCall('readSettings', {}, { enabled: isOwner && minutes === null });
  if (minutes !== null) return intervalText(minutes);
  const nodes = settings.data?.collection_every_minutes;
  return nodes === undefined ? 'node default' : `${intervalText(nodes)} (node default)`;
}

function scheduleOfSource({ every_minutes, every, time_zone, active_hours }: VisibleSource): Schedule {
  return {
    every_minutes,
    every: every ?? null,
    time_zone: time_zone ?? null,
    active_hours: active_hours ?? null,
  };
}

/** The source in which the address was found, and since when it is no longer linked there. */
function FoundIn({ source, foundIn }: { source: VisibleSource; foundIn: string }) {
  const { data } = useCall('readSource', { params: { id: foundIn } });
  return (
    <>
      <Link to={`/sources/${foundIn}`} className="wrap-anywhere">
        {data ? data.name || data.url : foundIn}
      </Link>
      {source.unlinked_at && (
        <>
          , no longer linked (noticed <TimeText at={source.unlinked_at} />)
        </>
      )}
    </>
  );
}

function currentVersion({ last_sha256, captures_only }: VisibleSource): ReactNode {
  if (last_sha256)
    return <ObjectDigest key="version" sha256={last_sha256} label="digest of the last version" />;
  return <Nothing key="version">{captures_only ? 'none of this node' : 'none'}</Nothing>;
}

function lastEvent({ last_event_type, last_event_at }: VisibleSource): ReactNode {
  return (
    last_event_type && (
      <span key="event">
        <StateBadge kind="event" value={last_event_type} /> {last_event_at && <TimeText at={last_event_at} />}
      </span>
    )
  );
}

function headerNames({ headers = {} }: VisibleSource): string | null {
  const names = Object.keys(headers);
  return names.length > 0 ? names.join(', ') : null;
}

function Nothing({ children }: { children: string }) {
  return <span className="muted">{children}</span>;
}
