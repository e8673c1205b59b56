import { Switch } from '@mantine/core';
import { IconAlertTriangle, IconArrowLeft } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link, useParams } from 'react-router';
import { watchedRegion, watchWords } from '../../../../shared/collection/noise.ts';
import { failureHint, failureWords } from '../../../../shared/collection/retrievalWords.ts';
import type { Schedule } from '../../../../shared/collection/schedule.ts';
import type { Source, WatchedSource } from '../../../../shared/collection/source.ts';
import { ApiProblem } from '../../api/client.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { ObjectText } from '../../components/content/ObjectCard.tsx';
import { ObjectDigest, PageLabelNote } from '../../components/content/Retrieval.tsx';
import { IfReadable } from '../../components/content/Withheld.tsx';
import { Facts, StateBadge, TimeText } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote, NotShown } from '../../components/feedback/ErrorNote.tsx';
import { IconLink } from '../../components/forms/buttons.tsx';
import { Page, Section } from '../../components/layout/Page.tsx';
import { countOf, intervalText, viewPath } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';
import { useHidden } from '../../state/withheld.ts';
import { PageText } from '../captures/PageDetails.tsx';
import { shareText } from '../captures/pageCapture.ts';
import { SourceCaptures } from './captures/SourceCaptures.tsx';
import { FollowedLinks } from './FoundList.tsx';
import { isAboutLogin, LoginFact, LoginNotice } from './Login.tsx';
import { CheckOutcome, ImportedSourceNotice, NoiseRunNote } from './Notices.tsx';
import { hoursText, zoneOf } from './ScheduleFields.tsx';
import { SourceActions } from './SourceActions.tsx';
import { SourceEvents, SourceRetrievals } from './SourceHistory.tsx';
import { CheckStrip } from './sourceColumns.tsx';
import { useSource, type VisibleSource } from './useSources.ts';

/** The page of one source: state, events and, for the owner, all retrievals. */
export default function SourcePage() {
  const { id = '' } = useParams();
  const isOwner = useIsOwner();
  const { source, watched, error, refetch } = useSource(id);
  if (error instanceof ApiProblem && error.document.code === 'not_found') return <UnknownSource id={id} />;
  if (error) {
    return (
      <Page title="Source" actions={<BackButton />}>
        <ErrorNote error={error} onRetry={() => void refetch()} />
      </Page>
    );
  }
  if (!source) {
    return (
      <Page title="Source">
        <p className="muted">Loading…</p>
      </Page>
    );
  }
  return (
    <Page
      title={source.name || source.url}
      lead={
        <span className="cluster gap-4 wrap-anywhere">
          {source.captures_only ? (
            <StateBadge kind="mark" value="captures_only" look="boxed" />
          ) : (
            <>
              <StateBadge kind="source" value={source.state} look="boxed" />
              {source.paused && <StateBadge kind="mark" value="paused" look="boxed" />}
            </>
          )}
          {watched?.removed && <strong>no longer watched</strong>}
          <a href={source.url} target="_blank" rel="noopener noreferrer nofollow">
            {source.url}
          </a>
        </span>
      }
      actions={watched && !watched.removed ? <SourceActions source={watched} /> : <BackButton />}
    >
      <CheckOutcome />
      {isOwner && <NoiseRunNote sourceId={id} />}
      {source.captures_only && <ImportedSourceNotice source={source} mayWatch={watched?.removed === false} />}
      <SourceFacts source={source} />
      <SourceCaptures source={source} />
      <CurrentVersion source={source} />
      <SourceEvents id={id} url={source.url} />
      {watched?.follow && <FollowedLinks source={watched} />}
      <SourceObservers source={watched} />
      {isOwner && <SourceRetrievals id={id} />}
    </Page>
  );
}

function UnknownSource({ id }: { id: string }) {
  return (
    <Page title="Source">
      <EmptyState title="Source not found" action={<BackButton />}>
        This node has no source with the id <span className="mono wrap-anywhere">{id}</span>. A source that is
        no longer watched is still listed, with its history.
      </EmptyState>
    </Page>
  );
}

function BackButton() {
  return (
    <IconLink icon={IconArrowLeft} to="/sources">
      Sources
    </IconLink>
  );
}

/** The state and the settings of a source. */
export function SourceFacts({ source }: { source: VisibleSource }) {
  return (
    <>
      <LoginNotice source={source} />
      <LostPart source={source} />
      <Failing source={source} />
      {/* What scripts draw is in the captures of the page. */}
      {source.page_label && !(source.last_page && source.page_label.label === 'script_shell') && (
        <p className="mb-4">
          <PageLabelNote label={source.page_label} withReason />
        </p>
      )}
      <div className="mb-6">
        <Facts
          layout="narrowColumns"
          facts={{
            Agency: source.agency || <Nothing>none</Nothing>,
            Tags: source.tags.length > 0 ? source.tags.join(', ') : <Nothing>none</Nothing>,
            'Last check': lastCheck(source),
            'Next check': nextCheck(source),
            'Last checks': source.recent_checks && source.recent_checks.length > 0 && (
              <CheckStrip checks={source.recent_checks} />
            ),
            Times: source.every && `${source.every} (${zoneOf(scheduleOfSource(source))})`,
            Interval: !source.every && <Interval minutes={source.every_minutes} />,
            'Log in with': source.login && <LoginFact source={source} />,
            'What is kept': keptOf(source),
            'Active hours': source.active_hours && hoursText(source.active_hours),
            'Found in': source.found_in && <FoundIn source={source} foundIn={source.found_in} />,
            'Current version': currentVersion(source),
            'Last event': lastEvent(source),
            'Size limit': typeof source.max_object_mb === 'number' && `${source.max_object_mb} MB`,
            'robots.txt': source.ignore_robots && 'ignored',
            Headers: headerNames(source),
            'Watched part': source.watch && watchWords(source.watch),
            'Noise rules': source.noise_rules && source.noise_rules.length > 0 && source.noise_rules.length,
            [source.paused && !source.last_checked_at ? 'Added' : 'Watched since']: (
              <TimeText at={source.added_at} />
            ),
          }}
        />
      </div>
    </>
  );
}

/** Says that the watched part is gone. */
function LostPart({ source: { watch, watch_lost_at: since } }: { source: VisibleSource }) {
  if (!since) return null;
  const isRegion = watchedRegion(watch ?? null) !== undefined;
  return (
    <p className="mb-4 warn line gap-2 stretch">
      <IconAlertTriangle size={16} aria-hidden />
      <span>
        The watched part has not been in the newest {isRegion ? 'picture' : 'version'} since{' '}
        <TimeText at={since} />. Until it is back, every change counts. Edit the source to watch another part.
      </span>
    </p>
  );
}

function Failing({ source }: { source: VisibleSource }) {
  const { last_error, last_status = null, consecutive_failures = 0, failing_since } = source;
  // The notice of the login says it.
  if (!last_error || (source.login && isAboutLogin(last_error))) return null;
  return (
    <div className="card card-warn mb-4 stack gap-1">
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
  if (last_checked_at) return <TimeText at={last_checked_at} />;
  return <Nothing>{captures_only ? 'never: imported captures only' : 'never'}</Nothing>;
}

function nextCheck({ next_check_at, paused, removed }: VisibleSource): ReactNode {
  if (next_check_at) return <TimeText at={next_check_at} />;
  if (removed) return 'none: no longer watched';
  return paused ? 'none: paused' : null;
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
  if (last_sha256) return <ObjectDigest sha256={last_sha256} label="digest of the last version" />;
  return <Nothing>{captures_only ? 'none by this node' : 'none'}</Nothing>;
}

function lastEvent({ last_event_type, last_event_at }: VisibleSource): ReactNode {
  return (
    last_event_type && (
      <span>
        <StateBadge kind="event" value={last_event_type} /> {last_event_at && <TimeText at={last_event_at} />}
      </span>
    )
  );
}

function keptOf({ capture, picture_events, keep_days }: VisibleSource): string {
  const what = capture === 'object' ? 'the file' : 'the file and the page';
  return [
    what,
    capture === 'page' && picture_events && `a picture change is reported from ${shareText(picture_events)}`,
    keep_days && `older versions are given up after ${countOf(keep_days, 'day')}`,
  ]
    .filter(Boolean)
    .join('; ');
}

function headerNames({ headers = {} }: VisibleSource): string | null {
  const names = Object.keys(headers);
  return names.length > 0 ? names.join(', ') : null;
}

function Nothing({ children }: { children: string }) {
  return <span className="muted">{children}</span>;
}

/** What a source says now: as a person reads it, if its page is kept, else as its file has it. */
function CurrentVersion({ source }: { source: VisibleSource }) {
  const { capture, last_page, last_sha256 } = source;
  if (capture === 'page' && last_page !== null) return <CurrentPageText id={last_page} />;
  return last_sha256 && <CurrentText source={source} sha256={last_sha256} />;
}

function CurrentPageText({ id }: { id: string }) {
  const { data: page } = useCall('readPage', { params: { id } });
  return (
    <Section title="Current text" actions={<Link to={`/pages/${id}`}>View current version</Link>}>
      {page && (
        <>
          <p className="small muted">
            As a person saw it on <TimeText at={page.started_at} show="exact" />
          </p>
          <IfReadable of={[{ sha256: page.text }]}>
            <PageText page={page} />
          </IfReadable>
        </>
      )}
    </Section>
  );
}

/** Kinds without text. */
const WITHOUT_TEXT: ReadonlySet<string> = new Set(['image', 'other']);

/** What the current version of a source says, and since when. */
export function CurrentText({ source, sha256 }: { source: Source; sha256: string }) {
  const query = { source: source.id };
  const hidden = useHidden({ sha256 });
  const { data: view } = useCall(
    'readObjectView',
    { params: { sha256 }, query },
    { enabled: hidden === null },
  );
  const hasText = view && !WITHOUT_TEXT.has(view.kind);
  return (
    <Section
      title={view && !hasText ? 'Current version' : 'Current text'}
      actions={<Link to={viewPath({ sha256, source: source.id, at: view?.at })}>View current version</Link>}
    >
      {view && (
        <p className="small muted">
          Version of <TimeText at={view.at} show="exact" />
          {source.last_checked_at && (
            <>
              , last checked <TimeText at={source.last_checked_at} />
            </>
          )}
        </p>
      )}
      {hidden && <NotShown {...hidden} />}
      {hasText && <ObjectText sha256={sha256} />}
    </Section>
  );
}

/** Which peers are asked to fetch a source too, when it changes. Only for the owner, and if there are peers. */
export function SourceObservers({ source }: { source: WatchedSource | undefined }) {
  const { id = '', removed = true } = source ?? {};
  const { data, error, refetch } = useCall('readSourceObservers', { params: { id } }, { enabled: !removed });
  const change = useSave('setSourceObservers', (peers: string[]) => ({ params: { id }, body: { peers } }));
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data || removed || data.peers.length === 0) return null;
  const { refusal, peers } = data;
  const asked = change.isPending ? change.variables : peers.flatMap((each) => (each.asked ? each.peer : []));
  const set = (peer: string, isAsked: boolean) =>
    change.mutate(isAsked ? [...asked, peer] : asked.filter((each) => each !== peer));
  return (
    <Section title="Also seen by">
      <p className="mb-4 muted">
        {refusal === null
          ? 'When this source changes, a peer fetches the address at the same moment and signs what it got. Its owner must have agreed. The peer learns that you watch this address.'
          : `No peer is asked to fetch this source. ${refusal}`}
      </p>
      <ul className="plain stack gap-4">
        {peers.map(({ peer, name, asked_at, error: failure }) => (
          <li key={peer}>
            <Switch
              label={name}
              description={
                asked_at && (
                  <>
                    Asked <TimeText at={asked_at} />. {failure ?? 'Its answer is recorded.'}
                  </>
                )
              }
              checked={asked.includes(peer)}
              disabled={change.isPending || (refusal !== null && !asked.includes(peer))}
              onChange={(event) => set(peer, event.currentTarget.checked)}
            />
          </li>
        ))}
      </ul>
      {change.error && <ErrorNote error={change.error} />}
    </Section>
  );
}
