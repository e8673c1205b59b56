import { Link, useSearchParams } from 'react-router';
import type { FoundText } from '../../../../shared/collection/derived.ts';
import { useCall } from '../../api/useCall.ts';
import { Pager } from '../../components/data/Pager.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { SearchField } from '../../components/forms/SearchField.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { useUrlFilters } from '../../state/urlFilters.ts';
import { ObjectDigest } from '../timeline/event/ObjectDigest.tsx';
import classes from './SearchPage.module.css';
import { SnippetText } from './SnippetText.tsx';

const PAGE_ROWS = 20;
const FILTERS = ['q'] as const;
const RESET_BY_FILTERS = ['offset'];

/** Full-text search in the current versions of all sources. */
export default function SearchPage() {
  const { values, set } = useUrlFilters(FILTERS, RESET_BY_FILTERS);
  const [search, setSearch] = useSearchParams();
  const q = values.q ?? '';
  const offset = offsetIn(search.get('offset'));
  const { data, error, refetch, isPlaceholderData } = useCall(
    'searchTexts',
    { query: { q, limit: PAGE_ROWS, offset } },
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
    <Page title="Text search" lead="Searches the current version of every watched source.">
      <search className={classes.search}>
        <SearchField
          label="Search text"
          placeholder="Words or a “phrase in quotes”"
          value={q}
          onChange={(words) => set({ q: words })}
        />
      </search>
      {q === '' && <BeforeSearch />}
      {q !== '' && error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {q !== '' && !found && !error && <p className="muted">Searching…</p>}
      {found?.total === 0 && (
        <EmptyState title="No results">
          A text must contain all words, in full or as prefixes. New versions are indexed shortly after they
          are retrieved. To search names, URLs and older versions, use the{' '}
          <Link to={timelineFor(q)}>timeline</Link>.
        </EmptyState>
      )}
      {found && found.total > 0 && (
        <div data-stale={isPlaceholderData || undefined} className={classes.found}>
          <ol className={classes.list} aria-label="Sources with matching text">
            {found.items.map((item) => (
              <li key={item.source.id}>
                <Result item={item} />
              </li>
            ))}
          </ol>
          <Pager what="sources" total={found.total} limit={PAGE_ROWS} offset={offset} onOffset={setOffset} />
          <p className="muted small">
            Newest first. The texts are derived from the archived objects, which are the evidence.
          </p>
        </div>
      )}
    </Page>
  );
}

function BeforeSearch() {
  return (
    <p className="muted">
      Searches pages, PDFs, tables, feeds and JSON. A text must contain all words. Words in quotes must appear
      together.
    </p>
  );
}

/** One source whose current version matches, with a snippet. */
function Result({ item: { source, sha256, observed_at, title, snippet } }: { item: FoundText }) {
  const name = source.name || source.url;
  return (
    <article className={classes.result} aria-label={name}>
      <h2>
        <Link to={`/sources/${source.id}`}>{name}</Link>
      </h2>
      <p className={classes.about}>
        {title && title !== name && <span>{title}</span>}
        {source.agency && <span>{source.agency}</span>}
        {source.name && <span className="wrap-anywhere">{source.url}</span>}
      </p>
      <p className={classes.snippet}>
        <SnippetText snippet={snippet} />
      </p>
      <p className={classes.version}>
        <ObjectDigest sha256={sha256} label="digest of this version" />
        <span>
          retrieved <TimeText at={observed_at} />
        </span>
        <Link to={`/timeline?source=${source.id}&q=${sha256}`}>View on timeline</Link>
      </p>
    </article>
  );
}

function timelineFor(q: string): string {
  return `/timeline?${new URLSearchParams({ q }).toString()}`;
}

function offsetIn(text: string | null): number {
  return text && /^\d{1,9}$/.test(text) ? Number(text) : 0;
}
