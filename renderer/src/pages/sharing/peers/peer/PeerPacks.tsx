import { Button } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import type { Peer } from '../../../../../../shared/node/peer.ts';
import type { PeerPack } from '../../../../../../shared/node/peerBrowsing.ts';
import { useCall } from '../../../../api/useCall.ts';
import { type Column, DataTable } from '../../../../components/data/DataTable.tsx';
import { Pager } from '../../../../components/data/Pager.tsx';
import { StateBadge } from '../../../../components/data/StateBadge.tsx';
import { TimeText } from '../../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../../components/feedback/ErrorNote.tsx';
import { SearchField } from '../../../../components/forms/SearchField.tsx';
import { Section } from '../../../../components/layout/Section.tsx';
import { formatBytes } from '../../../../format/size.ts';
import classes from '../Peers.module.css';
import type { Mirror } from '../useMirror.ts';

const COLUMNS: Column<PeerPack>[] = [
  {
    id: 'title',
    header: 'Title',
    cell: ({ title, authors }) => (
      <>
        <span className="wrap-anywhere">{title}</span>
        <span className={`${classes.below} muted small wrap-anywhere`}>{authors.join(', ')}</span>
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
  {
    id: 'received',
    header: 'Received',
    width: '9rem',
    hideBelow: 'medium',
    cell: ({ received_at }) => <TimeText at={received_at} />,
  },
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
  const [q, search] = useState('');
  const [offset, turn] = useState(0);
  const answer = useCall(
    'browsePeerPacks',
    { params: { id: peer.id }, query: { q, offset } },
    { keepPrevious: true },
  );
  const { items = [], total = 0, limit = 25 } = answer.data ?? {};
  return (
    <Section title="Packs">
      <div className={classes.tools}>
        <SearchField
          label="Search its packs"
          value={q}
          onChange={(text) => {
            search(text);
            turn(0);
          }}
        />
        <Button
          variant="default"
          disabled={mirror.isBusy || !mirror.isAllowed || total === 0}
          onClick={() => mirror.start({ packs: q ? { q } : true })}
        >
          {q ? 'Mirror what matches' : 'Mirror all packs'}
        </Button>
      </div>
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.isLoading && <p className="muted">Loading…</p>}
      {answer.isSuccess && total === 0 && (
        <p className="muted">{q ? 'No pack of the peer matches.' : 'The peer has no packs.'}</p>
      )}
      {items.length > 0 && (
        <>
          <DataTable caption="Packs of the peer" columns={COLUMNS} rows={items} rowKey={({ id }) => id} />
          <Pager what="packs" total={total} limit={limit} offset={offset} onOffset={turn} />
        </>
      )}
    </Section>
  );
}
