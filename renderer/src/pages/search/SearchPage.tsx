import { Button, SegmentedControl } from '@mantine/core';
import { Link, useSearchParams } from 'react-router';
import { useCall } from '../../api/useCall.ts';
import { Pager } from '../../components/data/Pager.tsx';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { SearchField } from '../../components/forms/SearchField.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { type Filters, useUrlFilters } from '../../state/urlFilters.ts';
import classes from './SearchPage.module.css';
import { SearchResult } from './SearchResult.tsx';

const PAGE_ROWS = 20;
const FILTERS = ['q', 'in', 'source'] as const;
type FilterName = (typeof FILTERS)[number];
const PARTS = [
  { value: '', label: 'Everything' },
  { value: 'sources', label: 'Sources' },
  { value: 'packs', label: 'Packs' },
];
const RESET_BY_FILTERS = ['offset'];

/** Full-text search in all versions of all sources and in the files of packs. */
export default function SearchPage() {
  const { values, set } = useUrlFilters(FILTERS, RESET_BY_FILTERS);
  const [search, setSearch] = useSearchParams();
  const q = values.q ?? '';
  const offset = offsetIn(search.get('offset'));
  const { data, error, refetch, isPlaceholderData } = useCall(
    'searchTexts',
    {
      query: {
        q,
        in: values.in === 'sources' || values.in === 'packs' ? values.in : undefined,
        source: values.source,
        limit: PAGE_ROWS,
        offset,
      },
    },
    { enabled: q !== '', keepPrevious: true },
  );
  const setOffset = (next: number) =>
    setSearch((before) => {
      const after = new URLSearchParams(before);
      after.set('offset', String(next));
      return after;
    });
  const found = q === '' ? undefined : data;
  return (
    <Page title="Text search" lead="Searches every version of every source, and the files of packs.">
      <SearchBar values={values} onChange={set} />
      {values.source && q !== '' && <p className="muted">Every version of one source, newest first.</p>}
      {q === '' && <BeforeSearch />}
      {q !== '' && error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {q !== '' && !found && !error && <p className="muted">Searching…</p>}
      {found?.total === 0 && (
        <EmptyState title="No results">
          A text must contain all words, in full or as prefixes. New versions and packs are indexed shortly
          after they are stored. To search names and URLs, use the <Link to={timelineFor(q)}>timeline</Link>.
        </EmptyState>
      )}
      {found && found.total > 0 && (
        <div data-stale={isPlaceholderData || undefined} className={classes.found}>
          <ol className={classes.list} aria-label="Matching texts">
            {found.items.map((item) => (
              <li key={`${item.source?.id ?? item.pack?.id} ${item.sha256}`}>
                <SearchResult item={item} q={q} />
              </li>
            ))}
          </ol>
          <Pager what="results" total={found.total} limit={PAGE_ROWS} offset={offset} onOffset={setOffset} />
          <p className="muted small">
            Sources first, then files of packs, newest first. The texts are derived from the stored bytes,
            which are the evidence.
          </p>
        </div>
      )}
    </Page>
  );
}

interface SearchBarProps {
  values: Filters<FilterName>;
  onChange: (changes: Filters<FilterName>) => void;
}

/** The words, and where to search. */
function SearchBar({ values, onChange }: SearchBarProps) {
  return (
    <search className={classes.search}>
      <SearchField
        label="Search text"
        placeholder="Words or a “phrase in quotes”"
        value={values.q ?? ''}
        onChange={(words) => onChange({ q: words })}
      />
      {values.source ? (
        <Button variant="default" onClick={() => onChange({ source: '' })}>
          Search everything
        </Button>
      ) : (
        <SegmentedControl
          aria-label="Search in"
          data={PARTS}
          value={values.in ?? ''}
          onChange={(part) => onChange({ in: part })}
        />
      )}
    </search>
  );
}

function BeforeSearch() {
  return (
    <p className="muted">
      Searches pages, PDFs, tables, feeds and JSON, replaced versions and imported captures too. A text must
      contain all words. Words in quotes must appear together.
    </p>
  );
}

function timelineFor(q: string): string {
  return `/timeline?${new URLSearchParams({ q }).toString()}`;
}

function offsetIn(text: string | null): number {
  return text && /^\d{1,9}$/.test(text) ? Number(text) : 0;
}
