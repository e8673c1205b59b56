import { Button } from '@mantine/core';
import { IconPackageImport } from '@tabler/icons-react';
import { Link, useNavigate } from 'react-router';
import type { Pack } from '../../../../../shared/archive/pack.ts';
import { useCall } from '../../../api/useCall.ts';
import { DataTable } from '../../../components/data/DataTable.tsx';
import { Pager } from '../../../components/data/Pager.tsx';
import { EmptyState } from '../../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { Page } from '../../../components/layout/Page.tsx';
import { SplitView, useIsWide } from '../../../components/layout/SplitView.tsx';
import { useMayContribute } from '../../../state/session.ts';
import { useUrlFilters } from '../../../state/urlFilters.ts';
import { PackPreview } from '../PackPreview.tsx';
import { FACETS, PackFacets } from './PackFacets.tsx';
import { packColumns } from './packColumns.tsx';

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
            columns={packColumns(openPack, isWide, open)}
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
