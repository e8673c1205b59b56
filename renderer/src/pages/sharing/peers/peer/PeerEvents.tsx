import { Button } from '@mantine/core';
import { useState } from 'react';
import type { Peer } from '../../../../../../shared/node/peer.ts';
import type { PeerEvent } from '../../../../../../shared/node/peerBrowsing.ts';
import { useCall } from '../../../../api/useCall.ts';
import { type Column, DataTable } from '../../../../components/data/DataTable.tsx';
import { Pager } from '../../../../components/data/Pager.tsx';
import { StateBadge } from '../../../../components/data/StateBadge.tsx';
import { TimeText } from '../../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../../components/feedback/ErrorNote.tsx';
import { SearchField } from '../../../../components/forms/SearchField.tsx';
import { Section } from '../../../../components/layout/Section.tsx';
import classes from '../Peers.module.css';
import type { Mirror } from '../useMirror.ts';

/** The timeline that a peer shows, with buttons that take its sources. */
export function PeerEvents({ peer, mirror }: { peer: Peer; mirror: Mirror }) {
  const [q, search] = useState('');
  const [offset, turn] = useState(0);
  const answer = useCall(
    'browsePeerEvents',
    { params: { id: peer.id }, query: { q, offset } },
    { keepPrevious: true },
  );
  const { items = [], total = 0, limit = 25 } = answer.data ?? {};
  const isDisabled = mirror.isBusy || !mirror.isAllowed;
  return (
    <Section title="Timeline">
      <div className={classes.tools}>
        <SearchField
          label="Search its timeline"
          value={q}
          onChange={(text) => {
            search(text);
            turn(0);
          }}
        />
        <Button
          variant="default"
          disabled={isDisabled || total === 0}
          onClick={() => mirror.start({ sources: true })}
        >
          Mirror all sources
        </Button>
      </div>
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.isLoading && <p className="muted">Loading…</p>}
      {answer.isSuccess && total === 0 && (
        <p className="muted">{q ? 'No event of the peer matches.' : 'The peer has no events.'}</p>
      )}
      {items.length > 0 && (
        <>
          <DataTable
            caption="Events of the peer"
            columns={columns(isDisabled, (id) => mirror.start({ sources: [id] }))}
            rows={items}
            rowKey={({ id }) => id}
          />
          <Pager what="events" total={total} limit={limit} offset={offset} onOffset={turn} />
        </>
      )}
    </Section>
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
