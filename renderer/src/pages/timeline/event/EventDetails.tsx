import { Button } from '@mantine/core';
import { Link } from 'react-router';
import type { EventDetails as Details, Event } from '../../../../../shared/event.ts';
import { useCall } from '../../../api/useCall.ts';
import { Facts } from '../../../components/data/Facts.tsx';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { EventDiff } from '../diff/EventDiff.tsx';
import { NoiseMark } from '../NoiseMark.tsx';
import { Corroboration } from './Corroboration.tsx';
import classes from './EventDetails.module.css';
import { ObjectCard } from './ObjectCard.tsx';
import { ObserverText } from './ObserverText.tsx';
import { PageLabelNote } from './PageLabelNote.tsx';

export interface EventDetailsProps {
  id: number;
  addressOfEvent: (id: number) => string;
}

/** Everything about one event: who saw what and when, the bytes before and after, and where the ledger has it. */
export function EventDetails({ id, addressOfEvent }: EventDetailsProps) {
  const { data: event, error, refetch } = useCall('readEvent', { params: { id } });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!event) return <p className="muted">Loading…</p>;
  return (
    <div className={classes.details}>
      <div>
        <p className={classes.kind}>
          <StateBadge kind="event" value={event.event_type} look="boxed" />
          {event.page_label && <PageLabelNote label={event.page_label} withReason />}
          {event.is_noise && <NoiseMark />}
        </p>
        <p className={classes.meaning}>{meaningOf(event)}</p>
      </div>
      <div className={classes.facts}>
        <Facts facts={factsOf(event, addressOfEvent)} />
      </div>
      {event.event_type === 'changed' && event.sha256 && event.previous_sha256 && <EventDiff event={event} />}
      <h2 className="visually-hidden">Objects</h2>
      {event.sha256 && (
        <ObjectCard title={event.previous_sha256 ? 'After' : 'The object'} sha256={event.sha256} />
      )}
      {event.previous_sha256 && (
        <ObjectCard title={event.sha256 ? 'Before' : 'Last version'} sha256={event.previous_sha256} />
      )}
      <p>
        <Button component={Link} to={`/timeline?source=${event.source.id}`} variant="default" size="xs">
          Only this source on the timeline
        </Button>
      </p>
    </div>
  );
}

function factsOf(event: Details, addressOfEvent: (id: number) => string) {
  const { source, reverts_to, corroborated_by } = event;
  return [
    [
      'Source',
      <Link key="source" to={`/sources/${source.id}`}>
        {source.name || 'its page'}
      </Link>,
    ],
    [
      'Address',
      <a key="url" href={source.url} target="_blank" rel="noopener noreferrer nofollow">
        {source.url}
      </a>,
    ],
    ['Agency', source.agency || null],
    ['Tags', source.tags.length > 0 ? source.tags.join(', ') : null],
    ['Observer', <ObserverText key="observer" observer={event.observer} />],
    ['Also held by', corroborated_by.length > 0 && <Corroboration key="also" observers={corroborated_by} />],
    [
      'Captured by them',
      event.original_observed_at && <TimeText key="captured" at={event.original_observed_at} show="exact" />,
    ],
    ['Retrieved by this node', <TimeText key="retrieved" at={event.observed_at} show="exact" />],
    [
      'Went back to',
      reverts_to !== null && (
        <Link key="reverts" to={addressOfEvent(reverts_to)}>
          the version of event {reverts_to}
        </Link>
      ),
    ],
    [
      'Recorded in the ledger',
      <Link key="ledger" to={`/ledger#${event.ledger_entry}`}>
        entry {event.ledger_entry}
      </Link>,
    ],
  ] as const;
}

function meaningOf({ event_type, reverts_to, observer }: Event): string {
  const whose = observer === 'self' ? '' : ' among the captures of this observer';
  switch (event_type) {
    case 'first_seen':
      return `The source gave an object for the first time${whose}.`;
    case 'changed':
      return reverts_to === null
        ? `The source gave other bytes than the last time${whose}. Both versions are kept.`
        : `The source went back to bytes that it had given before${whose}.`;
    case 'unavailable':
      return 'Check after check failed. The source may only be out of reach; its last version is kept.';
    case 'disappeared':
      return 'The address said, twice and minutes apart, that there is nothing here any more. Its last version is kept.';
    case 'recovered':
      return 'The source gives an object again.';
  }
}
