import type { Pack } from '../../../../../shared/archive/pack.ts';
import { type Column, RowLink } from '../../../components/data/DataTable.tsx';
import { StateBadge } from '../../../components/data/StateBadge.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { authorsLine } from '../../../format/authors.ts';
import { formatBytes } from '../../../format/size.ts';
import { VersionMark } from '../PackHeader.tsx';
import { ReplicationCounts } from '../replications/ReplicationCounts.tsx';
import classes from './PacksPage.module.css';

/**
 * The columns of the list of packs.
 *
 * @param isWide whether a pack opens next to the list
 */
export function packColumns(openPack: (pack: Pack) => void, isWide: boolean, open?: string): Column<Pack>[] {
  return [
    {
      id: 'title',
      header: 'Title',
      sortKey: 'title',
      cell: (pack) => (
        <TitleCell pack={pack} isOpen={pack.id === open} onOpen={isWide ? () => openPack(pack) : undefined} />
      ),
    },
    {
      id: 'authors',
      header: 'Authors',
      width: '11rem',
      hideBelow: 'wide',
      cell: (pack) => <span className="muted">{authorsLine(pack.authors)}</span>,
    },
    {
      id: 'outcome',
      header: 'Outcome',
      width: '6.5rem',
      cell: (pack) => <StateBadge kind="outcome" value={pack.outcome} />,
    },
    {
      id: 'tag',
      header: 'Tag',
      width: '7.5rem',
      hideBelow: 'medium',
      cell: (pack) => <StateBadge kind="tag" value={pack.tag} />,
    },
    {
      id: 'replications',
      header: 'Replications',
      width: '7rem',
      sortKey: 'replications',
      hideBelow: 'medium',
      cell: (pack) => <ReplicationCounts evidence={pack.evidence} />,
    },
    {
      id: 'size',
      header: 'Size',
      width: '5.5rem',
      align: 'end',
      hideBelow: 'wide',
      cell: (pack) => <span className="nowrap">{formatBytes(pack.evidence.bytes)}</span>,
    },
    {
      id: 'received',
      header: 'Received',
      width: '8.5rem',
      align: 'end',
      sortKey: 'received',
      hideBelow: 'narrow',
      cell: (pack) => <TimeText at={pack.evidence.received_at} />,
    },
  ];
}

interface TitleCellProps {
  pack: Pack;
  isOpen: boolean;
  onOpen: (() => void) | undefined;
}

/** The title, its marks, and what narrow tables have no columns for. */
function TitleCell({ pack, isOpen, onOpen }: TitleCellProps) {
  return (
    <>
      <span className={classes.title} title={pack.title}>
        <RowLink to={`/packs/${pack.id}`} onOpen={onOpen} isOpen={isOpen}>
          {pack.title}
        </RowLink>
      </span>{' '}
      <VersionMark evidence={pack.evidence} />
      {pack.flags.length > 0 && (
        <>
          {' '}
          <StateBadge kind="mark" value="flagged" />
        </>
      )}
      {pack.evidence.superseded_by && (
        <>
          {' '}
          <StateBadge kind="mark" value="superseded" />
        </>
      )}
      <div className="muted small" data-show="wide">
        {authorsLine(pack.authors)}
      </div>
      <div className="muted small" data-show="narrow">
        <TimeText at={pack.evidence.received_at} />
      </div>
    </>
  );
}
