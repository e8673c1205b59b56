import { Button, Group } from '@mantine/core';
import { IconCertificate } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { EventDetails as Details, Event } from '../../../../../shared/collection/event.ts';
import { urlOf } from '../../../api/client.ts';
import { useCall } from '../../../api/useCall.ts';
import { AddToCase } from '../../../components/content/findings/AddToCase.tsx';
import { FindingsSection } from '../../../components/content/findings/FindingsSection.tsx';
import type { QuotedObject } from '../../../components/content/findings/findPassage.ts';
import { ObjectCard } from '../../../components/content/object/ObjectCard.tsx';
import { ObserverText } from '../../../components/content/retrieval/ObserverText.tsx';
import { PageLabelNote } from '../../../components/content/retrieval/PageLabelNote.tsx';
import { Facts } from '../../../components/data/Facts.tsx';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { captureTime } from '../../../format/viewPath.ts';
import { useIsOwner } from '../../../state/session.ts';
import { EventDiff } from '../diff/EventDiff.tsx';
import { NoiseMark } from '../NoiseMark.tsx';
import classes from './EventDetails.module.css';
import { EventNeighbours } from './EventNeighbours.tsx';
import { EventObservers } from './EventObservers.tsx';
import { EventRetrieval } from './EventRetrieval.tsx';
import { QualityFindings } from './QualityFindings.tsx';
import { SeenButton } from './SeenButton.tsx';

export interface EventDetailsProps {
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
    <div className={classes.details}>
      <div className={classes.actions}>
        <SeenButton id={id} hasKey={!onStep} />
        <EventNeighbours neighbours={event.neighbours} addressOfEvent={addressOfEvent} onStep={onStep} />
      </div>
      <div>
        <p className={classes.kind}>
          <StateBadge kind="event" value={event.event_type} look="boxed" />
          {event.page_label && <PageLabelNote label={event.page_label} withReason />}
          {event.is_noise && <NoiseMark />}
        </p>
        <p className={classes.meaning}>{meaningOf(event)}</p>
        {event.page_label && <QualityFindings key={event.id} id={event.id} />}
      </div>
      <div className={classes.facts}>
        <Facts facts={factsOf(event, addressOfEvent)} />
      </div>
      {event.event_type === 'changed' && event.sha256 && event.previous_sha256 && <EventDiff event={event} />}
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
      <EventObservers id={id} observer={event.observer} />
      <EventActions id={id} source={event.source.id} />
      <FindingsSection target={{ kind: 'event', id: String(id) }} objects={quotedObjects(event)} />
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
  const { source, reverts_to } = event;
  return [
    [
      'Source',
      <Link key="source" to={`/sources/${source.id}`}>
        {source.name || 'source page'}
      </Link>,
    ],
    [
      'URL',
      <a key="url" href={source.url} target="_blank" rel="noopener noreferrer nofollow">
        {source.url}
      </a>,
    ],
    ['Agency', source.agency || null],
    ['Tags', source.tags.length > 0 ? source.tags.join(', ') : null],
    ['Observer', <ObserverText key="observer" observer={event.observer} />],
    [
      'Captured by observer',
      event.original_observed_at && <TimeText key="captured" at={event.original_observed_at} show="exact" />,
    ],
    ['Retrieved by this node', <TimeText key="retrieved" at={event.observed_at} show="exact" />],
    [
      'Returned to',
      reverts_to !== null && (
        <Link key="reverts" to={addressOfEvent(reverts_to)}>
          the version of event {reverts_to}
        </Link>
      ),
    ],
    [
      'Ledger',
      <Link key="ledger" to={`/ledger#${event.ledger_entry}`}>
        entry {event.ledger_entry}
      </Link>,
    ],
  ] as const;
}

function meaningOf({ event_type, reverts_to, observer }: Event): string {
  const whose = observer === 'self' ? '' : ' in the captures of this observer';
  switch (event_type) {
    case 'first_seen':
      return `The source was retrieved for the first time${whose}.`;
    case 'changed':
      return reverts_to === null
        ? `The content changed${whose}. Both versions are kept.`
        : `The source returned to an earlier version${whose}.`;
    case 'unavailable':
      return 'Several consecutive checks failed. The source may be temporarily unreachable. Its last version is kept.';
    case 'disappeared':
      return 'The server reported twice, minutes apart, that the resource no longer exists. Its last version is kept.';
    case 'recovered':
      return 'The source can be retrieved again.';
  }
}
