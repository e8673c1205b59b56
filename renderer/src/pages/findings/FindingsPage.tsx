import { Button, Select } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { Link } from 'react-router';
import { FINDING_STATES } from '../../../../shared/findings/finding.ts';
import { urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { SealedCard } from '../../components/content/FindingParts.tsx';
import { FindingCard } from '../../components/content/Findings.tsx';
import { FilteredList, useUrlOffset } from '../../components/data/DataTable.tsx';
import { EmptyState } from '../../components/feedback/ErrorNote.tsx';
import { exportFile } from '../../components/forms/buttons.tsx';
import { FilterSelect, SearchField, useUrlFilters } from '../../components/forms/filters.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { countOf } from '../../format.ts';

const PAGE_SIZE = 50;
const FILTERS = ['q', 'tag', 'state', 'event', 'object', 'pack'] as const;
const RESET = ['offset'];
/** Sealed findings are a list of their own. */
const STATES = [...FINDING_STATES, 'sealed'] as const;
const STATE_LABELS: Record<(typeof STATES)[number], string> = {
  current: 'Current',
  superseded: 'Superseded',
  withdrawn: 'Withdrawn',
  all: 'All',
  sealed: 'Sealed',
};

/** All findings, with search, filters and export. */
export default function FindingsPage() {
  const filters = useUrlFilters(FILTERS, RESET);
  const [offset] = useUrlOffset();
  const query = { ...filters.values, offset, limit: PAGE_SIZE };
  const isSealed = filters.values.state === 'sealed';
  const findings = useCall('listFindings', { query }, { keepPrevious: true, enabled: !isSealed });
  return (
    <Page
      title="Findings"
      lead="Notes on events, objects and packs. The ledger records each of them."
      actions={!isSealed && (findings.data?.total ?? 0) > 0 && <Exports query={filters.values} />}
    >
      <Filters filters={filters} />
      {isSealed ? (
        <SealedFindings offset={offset} filters={filters} />
      ) : (
        <OpenFindings list={findings} filters={filters} />
      )}
    </Page>
  );
}

type FindingFilters = ReturnType<typeof useUrlFilters<(typeof FILTERS)[number]>>;

function OpenFindings({
  list,
  filters,
}: {
  list: ReturnType<typeof useCall<'listFindings'>>;
  filters: FindingFilters;
}) {
  return (
    <>
      {!filters.isAny && <SealedNote />}
      <FilteredList
        list={list}
        filters={filters}
        what="findings"
        limit={PAGE_SIZE}
        noMatch={['No finding matches', 'A finding must contain all words and match every filter.']}
        empty={
          <EmptyState title="No findings yet">
            Open an event, an object or a pack, select a passage if you want to quote one, and choose “Add a
            finding”.
          </EmptyState>
        }
      >
        {(items) => (
          <div className="stack gap-3">
            {items.map((finding) => (
              <FindingCard key={finding.id} finding={finding} withTarget />
            ))}
          </div>
        )}
      </FilteredList>
    </>
  );
}

/** Says that there are sealed findings, which the list does not have. */
function SealedNote() {
  const { data } = useCall('listSealedFindings', { query: { limit: 1 } });
  if (!data || data.total === 0) return null;
  return (
    <p className="muted small mb-3">
      {countOf(data.total, 'finding is', 'findings are')} sealed.{' '}
      <Link to="/findings?state=sealed">Show sealed findings</Link>
    </p>
  );
}

/** The findings of which only a commitment is public. */
function SealedFindings({ offset, filters }: { offset: number; filters: FindingFilters }) {
  const { event, object, pack } = filters.values;
  const query = { event, object, pack, offset, limit: PAGE_SIZE };
  const list = useCall('listSealedFindings', { query }, { keepPrevious: true });
  return (
    <FilteredList
      list={list}
      filters={filters}
      what="sealed findings"
      limit={PAGE_SIZE}
      noMatch={[
        'No sealed findings',
        'A finding that is added with “Seal it” is listed here until it is revealed.',
      ]}
      empty={null}
    >
      {(items) => (
        <div className="stack gap-3">
          {items.map((finding) => (
            <SealedCard key={finding.id} finding={finding} withTarget />
          ))}
        </div>
      )}
    </FilteredList>
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

function Filters({ filters }: { filters: FindingFilters }) {
  const { values, set } = filters;
  const { data } = useCall('listFindingTags');
  const tags = data?.tags.map(({ tag }) => tag) ?? [];
  const shown = values.tag && !tags.includes(values.tag) ? [values.tag, ...tags] : tags;
  return (
    <search className="mb-3 cluster stretch gap-2">
      {values.state !== 'sealed' && (
        <>
          <div className="grow">
            <SearchField
              label="Search findings"
              placeholder="Text, quotation, tag or what it is about"
              value={values.q ?? ''}
              onChange={(q) => set({ q })}
            />
          </div>
          <FilterSelect
            label="Tag"
            data={shown}
            value={values.tag}
            onChange={(tag) => set({ tag })}
            searchable
            w={180}
          />
        </>
      )}
      <Select
        aria-label="State"
        data={STATES.map((state) => ({ value: state, label: STATE_LABELS[state] }))}
        value={values.state ?? 'current'}
        onChange={(state) => set({ state: state === 'current' ? '' : (state ?? '') })}
        allowDeselect={false}
        w={150}
      />
    </search>
  );
}
