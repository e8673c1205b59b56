import { Button } from '@mantine/core';
import type { Peer } from '../../../../../../shared/node/peer.ts';
import type { PeerEvent } from '../../../../../../shared/node/peerBrowsing.ts';
import { useCall } from '../../../../api/useCall.ts';
import type { Column } from '../../../../components/data/DataTable.tsx';
import { StateBadge } from '../../../../components/data/StateBadge.tsx';
import { TimeText } from '../../../../components/data/TimeText.tsx';
import classes from '../Peers.module.css';
import type { Mirror } from '../useMirror.ts';
import { PeerList, usePeerSearch } from './PeerList.tsx';

/** The timeline that a peer shows, with buttons that take its sources. */
export function PeerEvents({ peer, mirror }: { peer: Peer; mirror: Mirror }) {
  const search = usePeerSearch();
  const { q, offset } = search;
  const answer = useCall(
    'browsePeerEvents',
    { params: { id: peer.id }, query: { q, offset } },
    { keepPrevious: true },
  );
  const isDisabled = mirror.isBusy || !mirror.isAllowed;
  return (
    <PeerList
      title="Timeline"
      what="events"
      search={search}
      searchLabel="Search its timeline"
      answer={answer}
      columns={columns(isDisabled, (id) => mirror.start({ sources: [id] }))}
      action={
        <Button
          variant="default"
          disabled={isDisabled || !answer.data?.total}
          onClick={() => mirror.start({ sources: true })}
        >
          Mirror all sources
        </Button>
      }
    />
  );
}

function columns(isDisabled: boolean, onMirror: (source: string) => void): Column<PeerEvent>[] {
  return [
    {
      id: 'event',
      header: 'Event',
      width: '8.5rem',
      cell: ({ event_type }) => <StateBadge kind="event" value={event_type} />,
    },
    {
      id: 'source',
      header: 'Source',
      // The address is not a link: it is a stranger's.
      cell: ({ source }) => (
        <>
          <span className="wrap-anywhere">{source.name}</span>
          <span className={`${classes.below} muted small wrap-anywhere`}>{source.url}</span>
        </>
      ),
    },
    {
      id: 'at',
      header: 'Observed',
      width: '9rem',
      hideBelow: 'medium',
      cell: ({ observed_at }) => <TimeText at={observed_at} />,
    },
    {
      id: 'held',
      header: 'In this archive',
      width: '9rem',
      hideBelow: 'narrow',
      cell: ({ held, sha256 }) => (sha256 === null ? '' : held ? 'Yes' : <span className="muted">No</span>),
    },
    {
      id: 'mirror',
      header: 'Mirror',
      isHeaderHidden: true,
      width: '6rem',
      align: 'end',
      cell: ({ source }) => (
        <Button
          variant="subtle"
          size="compact-sm"
          disabled={isDisabled}
          aria-label={`Mirror the source: ${source.name}`}
          onClick={() => onMirror(source.id)}
        >
          Mirror
        </Button>
      ),
    },
  ];
}
