import { Button } from '@mantine/core';
import { IconPackageImport } from '@tabler/icons-react';
import { Link, useNavigate } from 'react-router';
import type { Pack } from '../../../../shared/archive/pack.ts';
import { useCall } from '../../api/useCall.ts';
import { type Column, DataTable, RowLink } from '../../components/data/DataTable.tsx';
import { Pager } from '../../components/data/Pager.tsx';
import { StateBadge } from '../../components/data/StateBadge.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { SplitView, useIsWide } from '../../components/layout/SplitView.tsx';
import { authorsLine } from '../../format/authors.ts';
import { formatBytes } from '../../format/size.ts';
import { useMayContribute } from '../../state/session.ts';
import { useUrlFilters } from '../../state/urlFilters.ts';
import { FACETS, PackFacets } from './PackFacets.tsx';
import { VersionMark } from './PackHeader.tsx';
import { PackPreview } from './PackPreview.tsx';
import classes from './PacksPage.module.css';
import { ReplicationCounts } from './replications/ReplicationCounts.tsx';

const PAGE_SIZE = 100;
const VIEW = ['sort', 'offset', 'open'] as const;
/** A new filter starts from the first page. */
const RESET = ['offset'] as const;

/** The list of packs with search, filters and sorting. A row opens next to the list. */
export default function PacksPage() {
  const mayContribute = useMayContribute();
  const filters = useUrlFilters(FACETS, RESET);
  const view = useUrlFilters(VIEW);
  const isWide = useIsWide();
  const navigate = useNavigate();
  const { sort = '-received', open } = view.values;
  const offset = Number(view.values.offset ?? 0) || 0;
  const packs = useCall(
    'listPacks',
    { query: { ...filters.values, sort, offset, limit: PAGE_SIZE } },
    { keepPrevious: true },
  );
  const openPack = (pack: Pack) => {
    if (isWide) view.set({ open: pack.id === open ? '' : pack.id });
    else void navigate(`/packs/${pack.id}`);
  };
  const assemble = (
    <Button component={Link} to="/assemble" leftSection={<IconPackageImport size={17} aria-hidden />}>
      New pack
    </Button>
  );
  const page = packs.data;
  return (
    <Page title="Packs" actions={mayContribute && assemble}>
      <PackFacets filters={filters} />
      {packs.error && <ErrorNote error={packs.error} onRetry={() => void packs.refetch()} />}
      {page && page.total === 0 && (
        <NoPacks isFiltered={filters.isAny} onClear={filters.clear} assemble={mayContribute && assemble} />
      )}
      {page && page.total > 0 && (
        <SplitView
          label="Open pack"
          pane={open && <PackPreview id={open} />}
          onClose={() => view.set({ open: '' })}
        >
          <DataTable
            caption="Packs"
            columns={columnsOf(openPack, isWide, open)}
            rows={page.items}
            rowKey={(pack) => pack.id}
            onOpen={openPack}
            openKey={open}
            sort={sort}
            onSort={(next) => view.set({ sort: next, offset: '' })}
          />
          <Pager
            what="packs"
            total={page.total}
            limit={PAGE_SIZE}
            offset={offset}
            onOffset={(next) => view.set({ offset: next ? String(next) : '' })}
          />
        </SplitView>
      )}
    </Page>
  );
}

function columnsOf(openPack: (pack: Pack) => void, isWide: boolean, open?: string): Column<Pack>[] {
  return [
    {
      id: 'title',
      header: 'Title',
      sortKey: 'title',
      cell: (pack) => (
        <>
          <span className={classes.title} title={pack.title}>
            <RowLink
              to={`/packs/${pack.id}`}
              onOpen={isWide ? () => openPack(pack) : undefined}
              isOpen={pack.id === open}
            >
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

interface NoPacksProps {
  isFiltered: boolean;
  onClear: () => void;
  assemble: React.ReactNode;
}

function NoPacks({ isFiltered, onClear, assemble }: NoPacksProps) {
  if (isFiltered) {
    return (
      <EmptyState
        title="No pack matches"
        action={
          <Button variant="default" onClick={onClear}>
            Clear filters
          </Button>
        }
      >
        A pack must contain all words and match every filter.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No packs yet" action={assemble}>
      A pack is a bundle of research files with a record of the authors, the outcome and the method. Packs
      will appear here, newest first.
    </EmptyState>
  );
}
