import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link, useParams } from 'react-router';
import type { Peer, PeerEvent, PeerPack } from '../../../../../shared/node/peer.ts';
import type { Slice } from '../../../../../shared/values/list.ts';
import { useCall, useSave } from '../../../api/useCall.ts';
import { type Column, DataTable, Pager, timeColumn } from '../../../components/data/DataTable.tsx';
import { StateBadge } from '../../../components/data/Values.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { SearchField } from '../../../components/forms/filters.tsx';
import { ItemPage, Page, Section } from '../../../components/layout/Page.tsx';
import { formatBytes } from '../../../format.ts';
import classes from '../SharingPage.module.css';
import { Proposals } from './Proposals.tsx';
import {
  type Mirror,
  MirrorOutcome,
  PeerStateNote,
  PeerSwitches,
  PinnedFacts,
  useMirror,
} from './peerParts.tsx';

/** One peer: what it shows, and what of it is taken. */
export default function PeerPage() {
  const { id = '' } = useParams();
  const query = useCall('readPeer', { params: { id } });
  return (
    <ItemPage
      query={query}
      name="Peer"
      list={{ to: '/sharing', label: 'All peers' }}
      missing="It may have been removed."
    >
      {(peer) => <Opened key={id} peer={peer} />}
    </ItemPage>
  );
}

function Opened({ peer }: { peer: Peer }) {
  const mirror = useMirror(peer);
  const contact = useSave('contactPeer', () => ({ params: { id: peer.id } }));
  return (
    <Page
      title={peer.name}
      lead={
        <>
          <Link to="/sharing">Peer</Link> at <span className="wrap-anywhere">{peer.url}</span>
        </>
      }
      actions={
        <>
          <Button variant="default" loading={contact.isPending} onClick={() => contact.mutate()}>
            Check now
          </Button>
          <Button
            disabled={mirror.isBusy || !mirror.isAllowed}
            onClick={() => mirror.start({ packs: true, sources: true })}
          >
            Mirror all
          </Button>
        </>
      }
    >
      <div className="mb-6 stack gap-3">
        {contact.error && <ErrorNote error={contact.error} />}
        <PeerStateNote peer={peer} />
        <MirrorOutcome mirror={mirror} />
        <PinnedFacts peer={peer} />
        {mirror.isAllowed && <PeerSwitches peer={peer} />}
        <p className="muted">
          This is the current content of the peer. It is not verified until it is mirrored.
        </p>
      </div>
      <Proposals peer={peer} />
      <PeerPacks peer={peer} mirror={mirror} />
      <PeerEvents peer={peer} mirror={mirror} />
    </Page>
  );
}

const COLUMNS: Column<PeerPack>[] = [
  {
    id: 'title',
    header: 'Title',
    cell: ({ title, authors }) => (
      <>
        <span className="wrap-anywhere">{title}</span>
        <span className="block muted small wrap-anywhere">{authors.join(', ')}</span>
      </>
    ),
  },
  {
    id: 'outcome',
    header: 'Outcome',
    width: '8rem',
    hideBelow: 'medium',
    cell: ({ outcome }) => <StateBadge kind="outcome" value={outcome} />,
  },
  timeColumn('Received', ({ received_at }) => received_at, { hideBelow: 'medium' }),
  {
    id: 'size',
    header: 'Size',
    width: '6rem',
    align: 'end',
    hideBelow: 'narrow',
    cell: ({ bytes }) => formatBytes(bytes),
  },
  {
    id: 'held',
    header: 'In this archive',
    width: '9rem',
    cell: ({ id, title, held }) =>
      held ? (
        <Link to={`/packs/${id}`} aria-label={`Yes: ${title}`}>
          Yes
        </Link>
      ) : (
        <span className="muted">No</span>
      ),
  },
];

/** The packs that a peer shows, with a button that takes those that match. */
export function PeerPacks({ peer, mirror }: { peer: Peer; mirror: Mirror }) {
  const search = usePeerSearch();
  const { q, offset } = search;
  const answer = useCall(
    'browsePeerPacks',
    { params: { id: peer.id }, query: { q, offset } },
    { keepPrevious: true },
  );
  return (
    <PeerList
      title="Packs"
      what="packs"
      search={search}
      searchLabel="Search its packs"
      answer={answer}
      columns={COLUMNS}
      action={
        <Button
          variant="default"
          disabled={mirror.isBusy || !mirror.isAllowed || !answer.data?.total}
          onClick={() => mirror.start({ packs: q ? { q } : true })}
        >
          {q ? 'Mirror what matches' : 'Mirror all packs'}
        </Button>
      }
    />
  );
}

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
          <span className="block muted small wrap-anywhere">{source.url}</span>
        </>
      ),
    },
    timeColumn('Observed', ({ observed_at }) => observed_at, { hideBelow: 'medium' }),
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

/** The search and the position in a list of a peer. */
export function usePeerSearch() {
  const [q, setQ] = useState('');
  const [offset, setOffset] = useState(0);
  const search = (text: string) => {
    setQ(text);
    setOffset(0);
  };
  return { q, offset, search, setOffset };
}

interface PeerListProps<Item> {
  title: string;
  /** What the list contains: `packs`. */
  what: 'packs' | 'events';
  search: ReturnType<typeof usePeerSearch>;
  searchLabel: string;
  answer: UseQueryResult<Slice<Item> & { limit: number }>;
  columns: readonly Column<Item>[];
  /** The button next to the search. */
  action: ReactNode;
}

/** A list that a peer shows, with a search. */
export function PeerList<Item extends { id: string | number }>(props: PeerListProps<Item>) {
  const { title, what, search, searchLabel, answer, columns, action } = props;
  const { items = [], total = 0, limit = 25 } = answer.data ?? {};
  return (
    <Section title={title}>
      <div className={`${classes.tools} mb-3 cluster gap-4`}>
        <SearchField label={searchLabel} value={search.q} onChange={search.search} />
        {action}
      </div>
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.isLoading && <p className="muted">Loading…</p>}
      {answer.isSuccess && total === 0 && (
        <p className="muted">
          {search.q ? `No ${what.slice(0, -1)} of the peer matches.` : `The peer has no ${what}.`}
        </p>
      )}
      {items.length > 0 && (
        <>
          <DataTable
            caption={`${what === 'packs' ? 'Packs' : 'Events'} of the peer`}
            columns={columns}
            rows={items}
            rowKey={({ id }) => id}
          />
          <Pager what={what} total={total} limit={limit} offset={search.offset} onOffset={search.setOffset} />
        </>
      )}
    </Section>
  );
}
