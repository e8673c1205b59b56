import { Button, SegmentedControl } from '@mantine/core';
import { Link, useSearchParams } from 'react-router';
import type { FoundText } from '../../../../shared/collection/derived.ts';
import { useCall } from '../../api/useCall.ts';
import { ObjectDigest } from '../../components/content/object/ObjectDigest.tsx';
import { DigestChip } from '../../components/data/DigestChip.tsx';
import { Pager } from '../../components/data/Pager.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { SearchField } from '../../components/forms/SearchField.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { countOf } from '../../format/size.ts';
import { captureTime, viewPath } from '../../format/viewPath.ts';
import { useUrlFilters } from '../../state/urlFilters.ts';
import classes from './SearchPage.module.css';
import { SnippetText } from './SnippetText.tsx';

const PAGE_ROWS = 20;
const FILTERS = ['q', 'in', 'source'] as const;
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
      <search className={classes.search}>
        <SearchField
          label="Search text"
          placeholder="Words or a “phrase in quotes”"
          value={q}
          onChange={(words) => set({ q: words })}
        />
        {values.source ? (
          <Button variant="default" onClick={() => set({ source: '' })}>
            Search everything
          </Button>
        ) : (
          <SegmentedControl
            aria-label="Search in"
            data={PARTS}
            value={values.in ?? ''}
            onChange={(part) => set({ in: part })}
          />
        )}
      </search>
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
                <Result item={item} q={q} />
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

function BeforeSearch() {
  return (
    <p className="muted">
      Searches pages, PDFs, tables, feeds and JSON, replaced versions and imported captures too. A text must
      contain all words. Words in quotes must appear together.
    </p>
  );
}

/** One source or file that matches, with a snippet. */
function Result({ item, q }: { item: FoundText; q: string }) {
  const { source, pack, title, snippet } = item;
  const name = source ? source.name || source.url : (pack?.path ?? '');
  return (
    <article className={classes.result} aria-label={name}>
      <h2>
        <Link to={source ? `/sources/${source.id}` : `/packs/${pack?.id}`}>{name}</Link>
      </h2>
      <p className={classes.about}>
        {title && title !== name && <span>{title}</span>}
        {source?.agency && <span>{source.agency}</span>}
        {source?.name && <span className="wrap-anywhere">{source.url}</span>}
        {pack && (
          <span>
            in the pack <Link to={`/packs/${pack.id}`}>{pack.title}</Link>
          </span>
        )}
      </p>
      <p className={classes.snippet}>
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
    <p className={classes.version}>
      <strong>{is_current ? 'Current version' : 'Replaced version'}</strong>
      <ObjectDigest sha256={sha256} label="digest of this version" />
      <span>
        retrieved <TimeText at={observed_at} />
      </span>
      {original_observed_at && (
        <span>
          captured by {observer} <TimeText at={original_observed_at} />
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
    <p className={classes.version}>
      <strong>File of a pack</strong>
      <DigestChip digest={sha256} label="digest of the file" />
      <span>
        received <TimeText at={observed_at} />
      </span>
      {pack && pack.others > 0 && <span>also at {countOf(pack.others, 'other place')} in packs</span>}
    </p>
  );
}

function timelineFor(q: string): string {
  return `/timeline?${new URLSearchParams({ q }).toString()}`;
}

function offsetIn(text: string | null): number {
  return text && /^\d{1,9}$/.test(text) ? Number(text) : 0;
}
