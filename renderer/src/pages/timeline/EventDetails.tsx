import { Button, Group, UnstyledButton } from '@mantine/core';
import { IconCertificate, IconCircle, IconCircleFilled } from '@tabler/icons-react';
import { useState } from 'react';
import { Link, useNavigate } from 'react-router';
import {
  type EventDetails as Details,
  type Event,
  type EventNeighbours as Neighbours,
} from '../../../../shared/collection/event.ts';
import { eventMeaning } from '../../../../shared/collection/eventText.ts';
import { BROWSER, HANDED_IN_WORDS, isHandedIn, SELF } from '../../../../shared/collection/observers.ts';
import type { Retrieval } from '../../../../shared/collection/retrieval.ts';
import { urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { AddToCase } from '../../components/content/AddToCase.tsx';
import { CiteButton } from '../../components/content/Citation.tsx';
import type { QuotedObject } from '../../components/content/FindingParts.tsx';
import { FindingsSection } from '../../components/content/Findings.tsx';
import { ObjectCard } from '../../components/content/ObjectCard.tsx';
import { PageThumbnail } from '../../components/content/PagePictures.tsx';
import {
  CORROBORATION_MEANING,
  connectionFacts,
  LABEL_WORDS,
  ObserverText,
  observerName,
  PageLabelNote,
} from '../../components/content/Retrieval.tsx';
import { IfReadable } from '../../components/content/Withheld.tsx';
import { DataTable } from '../../components/data/DataTable.tsx';
import { Facts, StateBadge, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { captureTime, countOf, formatCount } from '../../format.ts';
import { useMarkSeen, useSeenEvents } from '../../state/seenEvents.ts';
import { useIsOwner } from '../../state/session.ts';
import { comparePath, useCaptureBefore } from '../captures/pageCapture.ts';
import { EventDiff } from './EventDiff.tsx';
import { NoiseMark } from './EventMarks.tsx';
import classes from './event.module.css';
import { SeenByTwo } from './SeenByTwo.tsx';
import { KeyButton, StepButton, useShortcuts } from './shortcuts.tsx';

interface EventDetailsProps {
  id: number;
  addressOfEvent: (id: number) => string;
  /** Moves in the list next to the event, if there is one. */
  onStep?: (by: 1 | -1) => void;
}

/** All details of an event: observer, times, objects and ledger entry. */
export function EventDetails({ id, addressOfEvent, onStep }: EventDetailsProps) {
  const { data: event, error, refetch } = useCall('readEvent', { params: { id } });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!event) return <p className="muted">Loading…</p>;
  return (
    <div className="stack gap-4">
      <div className="cluster stretch gap-2">
        <SeenButton id={id} hasKey={!onStep} />
        <EventNeighbours neighbours={event.neighbours} addressOfEvent={addressOfEvent} onStep={onStep} />
      </div>
      <div>
        <p className="cluster gap-4 compact">
          <StateBadge kind="event" value={event.event_type} look="boxed" />
          {event.page_label && <PageLabelNote label={event.page_label} withReason />}
          <NoiseMark event={event} />
        </p>
        <p className="mt-2 muted">{eventMeaning(event)}</p>
        {event.page_label && <QualityFindings key={event.id} id={event.id} />}
      </div>
      {event.page !== null && <EventPicture source={event.source.id} page={event.page} />}
      <Facts layout="columns" facts={factsOf(event, addressOfEvent)} />
      {event.event_type === 'changed' && event.sha256 && event.previous_sha256 && (
        <IfReadable of={[{ sha256: event.sha256 }, { sha256: event.previous_sha256 }]}>
          <EventDiff event={event} />
        </IfReadable>
      )}
      <h2 className="visually-hidden">Objects</h2>
      {event.sha256 && (
        <ObjectCard
          title={event.previous_sha256 ? 'After' : 'Object'}
          sha256={event.sha256}
          source={event.source.id}
          at={captureTime(event)}
        />
      )}
      {event.previous_sha256 && (
        <ObjectCard
          title={event.sha256 ? 'Before' : 'Last version'}
          sha256={event.previous_sha256}
          source={event.source.id}
        />
      )}
      <EventRetrieval id={id} />
      <SeenByTwo event={event} />
      <EventObservers id={id} observer={event.observer} />
      <EventActions id={id} source={event.source.id} />
      <FindingsSection target={{ kind: 'event', id: String(id) }} objects={quotedObjects(event)} />
    </div>
  );
}

/** The page of an event as it was drawn, and the way to what changed in it. */
function EventPicture({ source, page }: { source: string; page: string }) {
  const before = useCaptureBefore(source, page);
  return (
    <div className="stack gap-2">
      <Link to={`/pages/${page}`} className={classes.picture}>
        <PageThumbnail page={page} alt="Page capture" size="card" />
      </Link>
      <div className="cluster gap-2">
        <Button component={Link} to={`/pages/${page}`} variant="default" size="compact-sm">
          Page capture
        </Button>
        {before && (
          <Button component={Link} to={comparePath(before, page)} variant="default" size="compact-sm">
            Compare with the previous capture
          </Button>
        )}
      </div>
    </div>
  );
}

function EventActions({ id, source }: { id: number; source: string }) {
  const isOwner = useIsOwner();
  return (
    <Group gap="xs">
      <Button component={Link} to={`/timeline?source=${source}`} variant="default" size="xs">
        Show only this source
      </Button>
      <Button
        component="a"
        href={urlOf('readEventEvidence', { params: { id } })}
        download
        variant="default"
        size="xs"
        leftSection={<IconCertificate size={14} aria-hidden />}
      >
        Evidence file
      </Button>
      <CiteButton item={String(id)} size="xs" />
      {isOwner && <AddToCase item={{ kind: 'event', id: String(id) }} />}
    </Group>
  );
}

function quotedObjects({ sha256, previous_sha256 }: Event): QuotedObject[] {
  const objects = [
    { sha256, name: 'After' },
    { sha256: previous_sha256, name: 'Before' },
  ];
  return objects.flatMap(({ sha256: digest, name }) => (digest === null ? [] : [{ sha256: digest, name }]));
}

function factsOf(event: Details, addressOfEvent: (id: number) => string) {
  const { source, reverts_to, observer } = event;
  const seen = observer === BROWSER ? 'Drawn' : isHandedIn(observer) ? 'Seen' : 'Captured by observer';
  const taken =
    observer === BROWSER ? 'Recorded' : isHandedIn(observer) ? 'Handed in' : 'Retrieved by this node';
  return {
    Source: <Link to={`/sources/${source.id}`}>{source.name || 'source page'}</Link>,
    URL: (
      <a href={source.url} target="_blank" rel="noopener noreferrer nofollow">
        {source.url}
      </a>
    ),
    Agency: source.agency || null,
    Tags: source.tags.length > 0 && source.tags.join(', '),
    Observer: <ObserverText observer={observer} />,
    [seen]: event.original_observed_at && <TimeText at={event.original_observed_at} show="exact" />,
    [taken]: <TimeText at={event.observed_at} show="exact" />,
    'Returned to': reverts_to !== null && (
      <Link to={addressOfEvent(reverts_to)}>the version of event {reverts_to}</Link>
    ),
    Ledger: <Link to={`/ledger#${event.ledger_entry}`}>entry {event.ledger_entry}</Link>,
  };
}

interface EventNeighboursProps {
  neighbours: Neighbours;
  addressOfEvent: (id: number) => string;
  /** Moves in the list next to the event: 1 to older, -1 to newer. Without it, to the event's neighbours. */
  onStep: ((step: 1 | -1) => void) | undefined;
}

/** Buttons and keys for the next older and newer event, of all sources and of this one. */
function EventNeighbours({ neighbours, addressOfEvent, onStep }: EventNeighboursProps) {
  const navigate = useNavigate();
  // Rendered with the change of the address, so that the next key acts on the new event.
  const options = { replace: onStep !== undefined, flushSync: true };
  const opener = (id: number | null) =>
    id === null ? undefined : () => void navigate(addressOfEvent(id), options);
  const { newer, older, newer_of_source, older_of_source } = neighbours;
  const openNewer = onStep ? () => onStep(-1) : opener(newer);
  const openOlder = onStep ? () => onStep(1) : opener(older);
  const openNewerOfSource = opener(newer_of_source);
  const openOlderOfSource = opener(older_of_source);
  // The list has these keys itself.
  useShortcuts({
    ...(onStep ? {} : { j: openOlder, k: openNewer }),
    J: openOlderOfSource,
    K: openNewerOfSource,
  });
  return (
    <nav className={classes.steps} aria-label="Other events">
      <div className="cluster stretch gap-2">
        <StepButton isUp label="Newer" keys="k" onClick={openNewer} />
        <StepButton label="Older" keys="j" onClick={openOlder} />
      </div>
      <div className="cluster stretch gap-2">
        <StepButton isUp label="Newer of this source" keys="K" onClick={openNewerOfSource} />
        <StepButton label="Older of this source" keys="J" onClick={openOlderOfSource} />
      </div>
    </nav>
  );
}

interface SeenButtonProps {
  id: number;
  /** Whether the key `m` is handled here, and not by a list. */
  hasKey: boolean;
}

/** Marks an event as seen or unseen. Only for the owner. */
function SeenButton({ id, hasKey }: SeenButtonProps) {
  const seen = useSeenEvents();
  const toggle = useToggleSeen();
  useShortcuts({ m: hasKey && toggle ? () => toggle(id) : undefined });
  if (!seen || !toggle) return null;
  const isUnseen = seen.isUnseen(id);
  const Icon = isUnseen ? IconCircleFilled : IconCircle;
  return (
    <KeyButton
      label={isUnseen ? 'Mark as seen' : 'Mark as unseen'}
      keys="m"
      icon={<Icon size={10} aria-hidden />}
      onClick={() => toggle(id)}
    />
  );
}

/** Returns a function that marks an event as seen, or as unseen if it was; undefined for visitors. */
export function useToggleSeen(): ((id: number) => void) | undefined {
  const seen = useSeenEvents();
  const mark = useMarkSeen();
  if (!seen) return undefined;
  return (id) => void mark(seen.isUnseen(id) ? { seen: [id] } : { unseen: [id] });
}

/** Why a version may not be the expected page: each rule that found something, with its score. */
function QualityFindings({ id }: { id: number }) {
  const [opened, setOpened] = useState(false);
  const { data, error } = useCall('readEventQuality', { params: { id } }, { enabled: opened });
  return (
    <div className="stack items-start gap-1 compact">
      <UnstyledButton className="small accent" aria-expanded={opened} onClick={() => setOpened(!opened)}>
        {opened ? 'Hide the signs' : 'Show the signs'}
      </UnstyledButton>
      {opened && error && <ErrorNote error={error} />}
      {opened && data && (
        <>
          <ul className="bullets stack gap-1">
            {data.findings.map(({ rule, label, score, reason }) => (
              <li key={rule}>
                {reason}{' '}
                <span className="muted small">
                  ({LABEL_WORDS[label]}, {countOf(score, 'point')}, {rule})
                </span>
              </li>
            ))}
          </ul>
          <p className="muted small">
            {data.findings.length === 0
              ? 'The rules of this version of Strongroom find no signs in the archived bytes.'
              : `A version is labelled at ${countOf(data.threshold, 'point')} or more.`}
          </p>
        </>
      )}
    </div>
  );
}

/** How the retrieval of an event was had, and who says so. */
function EventRetrieval({ id }: { id: number }) {
  const { data, error, refetch } = useCall('readEventRetrieval', { params: { id } });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return null;
  const { final_url, redirects, observer, status, connection, duration_ms } = data;
  return (
    <section className="stack gap-2" aria-label="How it was retrieved">
      <h2>How it was retrieved</h2>
      <Facts
        layout="columns"
        facts={{
          'Address that answered': connection && final_url,
          Redirects: redirects.length > 0 && formatCount(redirects.length),
          'HTTP status': status,
          ...connectionFacts(connection),
          Duration: observer === SELF && `${formatCount(duration_ms)} ms`,
        }}
      />
      <p className="small muted">{whoSays(data)}</p>
    </section>
  );
}

function whoSays({ connection, observer, ledger_entry, status }: Retrieval): string {
  if (observer === BROWSER)
    return 'This is the text of the page as this node’s browser drew it. The page capture lists each answer that it was drawn from.';
  if (isHandedIn(observer)) return `A person gave this file and its address: ${HANDED_IN_WORDS}.`;
  if (connection) {
    const covered =
      ledger_entry === null
        ? ''
        : ` Ledger entry ${formatCount(ledger_entry)} protects this record against later changes.`;
    return `Only ${observerName(observer)} states this. Servers do not sign their connections, so it cannot be proven.${covered}`;
  }
  return status === null
    ? 'No server answered.'
    : 'The connection was not recorded. Earlier versions of Strongroom did not record it, and most captures do not contain it.';
}

/** Who else retrieved the version of an event from the same address, and when. */
function EventObservers({ id, observer }: { id: number; observer: string }) {
  const { data, error, refetch } = useCall('readEventObservers', { params: { id } });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data || data.sha256 === null) return null;
  const others = data.observers.filter((each) => each.observer !== observer);
  return (
    <section className="stack gap-2" aria-label="Who else saw this">
      <h2>Who else saw this</h2>
      {others.length === 0 ? (
        <p className="muted">
          {observer === BROWSER
            ? 'Nobody else yet. Other nodes that drew this page with the same text appear here.'
            : observer === SELF
              ? 'Nobody else yet. Peers that watch this address, and imported captures of it, appear here when they have the same bytes.'
              : 'Nobody else yet. This node has not retrieved the same bytes itself.'}
        </p>
      ) : (
        <>
          <DataTable
            caption="Observers with the same bytes from the same address, earliest first"
            rows={data.observers}
            rowKey={({ observer: name }) => name}
            columns={[
              {
                id: 'observer',
                header: 'Observer',
                cell: ({ observer, first }) => (
                  <>
                    <ObserverText observer={observer} />
                    <div data-show="narrow" className="small muted">
                      first <TimeText at={first} />
                    </div>
                  </>
                ),
              },
              {
                id: 'first',
                header: 'First',
                hideBelow: 'narrow',
                cell: ({ first }) => <TimeText at={first} />,
              },
              { id: 'last', header: 'Last', hideBelow: 'narrow', cell: ({ last }) => <TimeText at={last} /> },
              {
                id: 'times',
                header: 'Times',
                align: 'end',
                hideBelow: 'narrow',
                cell: ({ retrievals }) => formatCount(retrievals),
              },
            ]}
          />
          <p className="small muted">{CORROBORATION_MEANING}</p>
        </>
      )}
    </section>
  );
}
