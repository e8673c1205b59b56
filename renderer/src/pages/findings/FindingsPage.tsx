import { Button, Select } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { FINDING_STATES } from '../../../../shared/findings/finding.ts';
import { urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { FindingCard } from '../../components/content/findings/FindingCard.tsx';
import listClasses from '../../components/content/findings/Findings.module.css';
import { Pager } from '../../components/data/Pager.tsx';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { exportFile } from '../../components/feedback/exportFile.ts';
import { clearButtonProps } from '../../components/forms/clearButtonProps.ts';
import { SearchField } from '../../components/forms/SearchField.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { useUrlFilters } from '../../state/urlFilters.ts';
import classes from './FindingsPage.module.css';

const PAGE_SIZE = 50;
const FILTERS = ['q', 'tag', 'state', 'event', 'object', 'pack'] as const;
const VIEW = ['offset'] as const;

/** All findings, with search, filters and export. */
export default function FindingsPage() {
  const filters = useUrlFilters(FILTERS, VIEW);
  const view = useUrlFilters(VIEW);
  const offset = Number(view.values.offset ?? 0) || 0;
  const query = { ...filters.values, offset, limit: PAGE_SIZE };
  const { data: page, error, refetch } = useCall('listFindings', { query }, { keepPrevious: true });
  return (
    <Page
      title="Findings"
      lead="Notes on events, objects and packs. The ledger records each of them."
      actions={page && page.total > 0 && <Exports query={filters.values} />}
    >
      <Filters filters={filters} />
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {page?.total === 0 && filters.isAny && (
        <EmptyState
          title="No finding matches"
          action={
            <Button variant="default" onClick={filters.clear}>
              Clear filters
            </Button>
          }
        >
          A finding must contain all words and match every filter.
        </EmptyState>
      )}
      {page?.total === 0 && !filters.isAny && (
        <EmptyState title="No findings yet">
          Open an event, an object or a pack, select a passage if you want to quote one, and choose “Add a
          finding”.
        </EmptyState>
      )}
      {page && page.total > 0 && (
        <>
          <div className={listClasses.list}>
            {page.items.map((finding) => (
              <FindingCard key={finding.id} finding={finding} withTarget />
            ))}
          </div>
          <Pager
            what="findings"
            total={page.total}
            limit={PAGE_SIZE}
            offset={offset}
            onOffset={(next) => view.set({ offset: next ? String(next) : '' })}
          />
        </>
      )}
    </Page>
  );
}

function Exports({ query }: { query: Record<string, string | undefined> }) {
  const formats = [
    ['CSV', 'csv'],
    ['JSON-LD', 'jsonld'],
  ] as const;
  return formats.map(([name, format]) => (
    <Button
      key={format}
      component="a"
      href={urlOf('listFindings', { query: { ...query, format } })}
      download
      onClick={(click) => void exportFile(click)}
      variant="default"
      leftSection={<IconDownload size={16} aria-hidden />}
    >
      {name}
    </Button>
  ));
}

function Filters({ filters }: { filters: ReturnType<typeof useUrlFilters<(typeof FILTERS)[number]>> }) {
  const { values, set } = filters;
  const { data } = useCall('listFindingTags');
  const tags = data?.tags.map(({ tag }) => tag) ?? [];
  const shown = values.tag && !tags.includes(values.tag) ? [values.tag, ...tags] : tags;
  return (
    <search className={classes.filters}>
      <div className={classes.search}>
        <SearchField
          label="Search findings"
          placeholder="Text, quotation, tag or what it is about"
          value={values.q ?? ''}
          onChange={(q) => set({ q })}
        />
      </div>
      <Select
        aria-label="Tag"
        placeholder="Tag"
        data={shown}
        value={values.tag ?? null}
        onChange={(tag) => set({ tag: tag ?? '' })}
        searchable
        clearable
        clearButtonProps={clearButtonProps('Any tag')}
        w={180}
      />
      <Select
        aria-label="State"
        data={[...FINDING_STATES]}
        value={values.state ?? 'current'}
        onChange={(state) => set({ state: state === 'current' ? '' : (state ?? '') })}
        allowDeselect={false}
        w={150}
      />
    </search>
  );
}
