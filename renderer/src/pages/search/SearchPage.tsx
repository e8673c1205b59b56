import { Button, SegmentedControl } from '@mantine/core';
import { Link } from 'react-router';
import type { FoundText, Snippet } from '../../../../shared/collection/derived.ts';
import { handedInWords } from '../../../../shared/collection/observers.ts';
import { useCall } from '../../api/useCall.ts';
import { ObjectDigest, observerName } from '../../components/content/Retrieval.tsx';
import { Pager, useUrlOffset } from '../../components/data/DataTable.tsx';
import { DigestChip, TimeText } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { type Filters, SearchField, useUrlFilters } from '../../components/forms/filters.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { captureTime, countOf, viewPath } from '../../format.ts';
import classes from './SearchPage.module.css';

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
  const q = values.q ?? '';
  const [offset, setOffset] = useUrlOffset(false);
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
        <div data-stale={isPlaceholderData || undefined}>
          <ol className={`${classes.list} plain ruled`} aria-label="Matching texts">
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
    <search className="mb-4 measure-short stack items-start gap-3">
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
      Searches pages, PDFs, tables, feeds and JSON, including replaced versions and imported captures. A text
      must contain all words. Words in quotes must appear together.
    </p>
  );
}

function timelineFor(q: string): string {
  return `/timeline?${new URLSearchParams({ q }).toString()}`;
}

/** One source or file that matches, with a snippet. */
export function SearchResult({ item, q }: { item: FoundText; q: string }) {
  const { source, pack, title, snippet } = item;
  const name = source ? source.name || source.url : (pack?.path ?? '');
  return (
    <article className={`${classes.result} stack gap-1`} aria-label={name}>
      <h2>
        <Link to={source ? `/sources/${source.id}` : `/packs/${pack?.id}`}>{name}</Link>
      </h2>
      <p className="cluster gap-4 small muted">
        {title && title !== name && <span>{title}</span>}
        {source?.agency && <span>{source.agency}</span>}
        {source?.name && <span className="wrap-anywhere">{source.url}</span>}
        {pack && (
          <span>
            in the pack <Link to={`/packs/${pack.id}`}>{pack.title}</Link>
          </span>
        )}
      </p>
      <p className={`${classes.snippet} wrap-anywhere`}>
        <SnippetText snippet={snippet} />
      </p>
      {source ? <VersionLine item={item} source={source.id} q={q} /> : <FileLine item={item} />}
    </article>
  );
}

/** Which version matches, when and by whom it was observed, and in how many others the words are too. */
function VersionLine({ item, source, q }: { item: FoundText; source: string; q: string }) {
  const { sha256, is_current, observed_at, observer, original_observed_at, other_versions } = item;
  return (
    <p className="cluster gap-4 small muted">
      <strong>{is_current ? 'Current version' : 'Replaced version'}</strong>
      <ObjectDigest sha256={sha256} label="digest of this version" />
      <span>
        retrieved <TimeText at={observed_at} />
      </span>
      {original_observed_at && (
        <span>
          {handedInWords(observer ?? '') ?? `captured by ${observerName(observer ?? '')}`}{' '}
          <TimeText at={original_observed_at} />
        </span>
      )}
      {other_versions > 0 && (
        <Link to={`/search?${new URLSearchParams({ q, source }).toString()}`}>
          also in {countOf(other_versions, is_current ? 'earlier version' : 'other version')}
        </Link>
      )}
      <Link to={viewPath({ sha256, source, at: captureTime({ observed_at, original_observed_at }) })}>
        View
      </Link>
      <Link to={`/timeline?source=${source}&q=${sha256}`}>Show on timeline</Link>
    </p>
  );
}

function FileLine({ item: { sha256, observed_at, pack } }: { item: FoundText }) {
  return (
    <p className="cluster gap-4 small muted">
      <strong>File of a pack</strong>
      <DigestChip digest={sha256} label="digest of the file" />
      <span>
        received <TimeText at={observed_at} />
      </span>
      {pack && pack.others > 0 && <span>also at {countOf(pack.others, 'other place')} in packs</span>}
    </p>
  );
}

/** A snippet as plain text, with the search words highlighted. */
export function SnippetText({ snippet }: { snippet: Snippet }) {
  return snippetParts(snippet).map(({ text, start, isMarked }) =>
    isMarked ? <mark key={start}>{text}</mark> : <span key={start}>{text}</span>,
  );
}

export interface SnippetPart {
  /** Offset in the snippet in UTF-16 code units. */
  start: number;
  text: string;
  isMarked: boolean;
}

/** Splits a snippet at its highlights, in order. Overlapping highlights lose no text. */
export function snippetParts({ text, marks }: Snippet): SnippetPart[] {
  const parts: SnippetPart[] = [];
  let at = 0;
  const push = (end: number, isMarked: boolean) => {
    if (end > at) parts.push({ start: at, text: text.slice(at, end), isMarked });
    at = Math.max(at, end);
  };
  for (const { start, end } of marks.toSorted((left, right) => left.start - right.start)) {
    push(start, false);
    push(end, true);
  }
  push(text.length, false);
  return parts;
}
