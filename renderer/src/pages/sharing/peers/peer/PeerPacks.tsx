import { Button } from '@mantine/core';
import { Link } from 'react-router';
import type { Peer } from '../../../../../../shared/node/peer.ts';
import type { PeerPack } from '../../../../../../shared/node/peerBrowsing.ts';
import { useCall } from '../../../../api/useCall.ts';
import type { Column } from '../../../../components/data/DataTable.tsx';
import { StateBadge } from '../../../../components/data/StateBadge.tsx';
import { TimeText } from '../../../../components/data/TimeText.tsx';
import { formatBytes } from '../../../../format/size.ts';
import classes from '../Peers.module.css';
import type { Mirror } from '../useMirror.ts';
import { PeerList, usePeerSearch } from './PeerList.tsx';

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
