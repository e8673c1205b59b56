import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import type { CaseSummary } from '../../../../shared/findings/case.ts';
import { useCall } from '../../api/useCall.ts';
import { NewCaseDialog } from '../../components/content/AddToCase.tsx';
import {
  type Column,
  DataTable,
  FilteredList,
  RowLink,
  timeColumn,
  useUrlOffset,
} from '../../components/data/DataTable.tsx';
import { EmptyState } from '../../components/feedback/ErrorNote.tsx';
import { SearchField, useUrlFilters } from '../../components/forms/filters.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { formatCount } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';

const PAGE_SIZE = 100;
const FILTERS = ['q'] as const;
const RESET = ['offset'];

const COLUMNS: Column<CaseSummary>[] = [
  {
    id: 'title',
    header: 'Title',
    cell: ({ id, title, description }) => (
      <>
        <RowLink to={`/cases/${id}`}>{title}</RowLink>
        {description && <div className="clamp clamp-1 measure muted small">{description}</div>}
      </>
    ),
  },
  { id: 'items', header: 'Items', width: '5rem', align: 'end', cell: ({ items }) => formatCount(items) },
  timeColumn('Changed', ({ changed_at }) => changed_at, { align: 'end', hideBelow: 'narrow' }),
];

/** The list of cases. */
export default function CasesPage() {
  const isOwner = useIsOwner();
  const filters = useUrlFilters(FILTERS, RESET);
  const [isCreating, creating] = useDisclosure(false);
  const [offset] = useUrlOffset();
  const query = { ...filters.values, offset, limit: PAGE_SIZE };
  const cases = useCall('listCases', { query }, { keepPrevious: true });
  const create = isOwner && (
    <Button onClick={creating.open} leftSection={<IconPlus size={17} aria-hidden />}>
      New case
    </Button>
  );
  return (
    <Page
      title="Cases"
      lead="Ordered lists of events, packs and findings, for an investigation or a paper."
      actions={create}
    >
      <NewCaseDialog opened={isCreating} onClose={creating.close} />
      <search className="mb-3">
        <SearchField
          label="Search cases"
          placeholder="Title or description"
          value={filters.values.q ?? ''}
          onChange={(q) => filters.set({ q })}
        />
      </search>
      <FilteredList
        list={cases}
        filters={filters}
        what="cases"
        limit={PAGE_SIZE}
        noMatch={['No case matches', 'The title or the description of a case must contain all words.']}
        empty={
          <EmptyState title="No cases yet" action={create}>
            A case collects the events, packs and findings of one investigation or paper. Download it with all
            its evidence as one bag that others can check.
          </EmptyState>
        }
      >
        {(items) => <DataTable caption="Cases" columns={COLUMNS} rows={items} rowKey={({ id }) => id} />}
      </FilteredList>
    </Page>
  );
}
