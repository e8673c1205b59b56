import { Button, Select } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { type Study, studyStatusSchema } from '../../../../shared/archive/study.ts';
import { useCall } from '../../api/useCall.ts';
import { type Column, DataTable, RowLink } from '../../components/data/DataTable.tsx';
import { FilteredList, useUrlOffset } from '../../components/data/FilteredList.tsx';
import { StateBadge } from '../../components/data/StateBadge.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { clearButtonProps } from '../../components/forms/clearButtonProps.ts';
import { SubjectPicker } from '../../components/forms/pickers/SubjectPicker.tsx';
import { SearchField } from '../../components/forms/SearchField.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { formatCount } from '../../format/size.ts';
import { useMayContribute } from '../../state/session.ts';
import { type UrlFilters, useUrlFilters } from '../../state/urlFilters.ts';
import { NewStudyDialog } from './NewStudyDialog.tsx';
import classes from './StudiesPage.module.css';

const PAGE_SIZE = 100;
const FILTERS = ['q', 'status', 'node'] as const;
const RESET = ['offset'];

const COLUMNS: Column<Study>[] = [
  {
    id: 'title',
    header: 'Title',
    cell: (study) => (
      <>
        <RowLink to={`/studies/${study.id}`}>{study.title}</RowLink>
        {study.question && <div className={`${classes.question} muted small`}>{study.question}</div>}
        <div data-show="narrow">
          <StateBadge kind="study" value={study.status} />
        </div>
      </>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    width: '8rem',
    hideBelow: 'narrow',
    cell: (study) => <StateBadge kind="study" value={study.status} />,
  },
  {
    id: 'node',
    header: 'Subject',
    width: '14rem',
    hideBelow: 'medium',
    cell: (study) => <span className="mono small muted">{study.node}</span>,
  },
  {
    id: 'packs',
    header: 'Packs',
    width: '5rem',
    align: 'end',
    cell: (study) => formatCount(study.counts.packs),
  },
  {
    id: 'created',
    header: 'Created',
    width: '9rem',
    align: 'end',
    hideBelow: 'narrow',
    cell: (study) => <TimeText at={study.created_at} />,
  },
];

function StudyFilters({ filters }: { filters: UrlFilters<(typeof FILTERS)[number]> }) {
  return (
    <search className={classes.filters}>
      <div className={classes.search}>
        <SearchField
          label="Search studies"
          placeholder="Title, question or description"
          value={filters.values.q ?? ''}
          onChange={(q) => filters.set({ q })}
        />
      </div>
      <Select
        aria-label="Status"
        placeholder="Status"
        data={studyStatusSchema.options}
        value={filters.values.status ?? null}
        onChange={(status) => filters.set({ status: status ?? '' })}
        clearable
        clearButtonProps={clearButtonProps('Any status')}
        w={140}
      />
      <SubjectPicker
        aria-label="Subject (including those below)"
        placeholder="Subject"
        value={filters.values.node ?? null}
        onChange={(node) => filters.set({ node: node ?? '' })}
        w={240}
      />
    </search>
  );
}

/** The list of studies. */
export default function StudiesPage() {
  const mayContribute = useMayContribute();
  const filters = useUrlFilters(FILTERS, RESET);
  const [isCreating, creating] = useDisclosure(false);
  const [offset] = useUrlOffset();
  const studies = useCall(
    'listStudies',
    { query: { ...filters.values, offset, limit: PAGE_SIZE } },
    { keepPrevious: true },
  );
  const create = mayContribute && (
    <Button onClick={creating.open} leftSection={<IconPlus size={17} aria-hidden />}>
      New study
    </Button>
  );
  return (
    <Page title="Studies" actions={create}>
      <NewStudyDialog opened={isCreating} onClose={creating.close} />
      <StudyFilters filters={filters} />
      <FilteredList
        list={studies}
        filters={filters}
        what="studies"
        one="study"
        limit={PAGE_SIZE}
        noMatch={['No study matches', 'A study must contain all words and match every filter.']}
        empty={
          <EmptyState title="No studies yet" action={create}>
            A study is a question that several packs help to answer, such as one result repeated by five labs.
            Its table compares their results.
          </EmptyState>
        }
      >
        {(items) => <DataTable caption="Studies" columns={COLUMNS} rows={items} rowKey={({ id }) => id} />}
      </FilteredList>
    </Page>
  );
}
