import { useQueries } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { ReleasePreview } from '../../../../shared/node/withheld.ts';
import { call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf, formatCount, placeOf } from '../../format.ts';

/** Of each kind, so many uses are listed. */
const LISTED = 6;

/** Names what loses its bytes if some digests are given up: everything in the archive that uses them, and the copies. */
export function Lost({ digests }: { digests: readonly string[] }) {
  const { previews, error, isPending } = usePreviews(digests);
  return (
    <section className="card stack gap-3" aria-label="What uses these bytes">
      <h3>What uses these bytes</h3>
      {error && <ErrorNote error={error} />}
      {isPending && <output className="muted">Looking for what uses them…</output>}
      {!isPending && !error && <Uses previews={previews} />}
    </section>
  );
}

function usePreviews(digests: readonly string[]) {
  return useQueries({
    queries: digests.map((sha256) => ({
      queryKey: callKey('previewRelease', { query: { sha256 } }),
      queryFn: ({ signal }: { signal: AbortSignal }) => call('previewRelease', { query: { sha256 }, signal }),
    })),
    combine: (answers) => ({
      previews: answers.flatMap(({ data }) => data ?? []),
      error: answers.find((answer) => answer.error)?.error ?? null,
      isPending: answers.some((answer) => answer.isPending),
    }),
  });
}

function Uses({ previews }: { previews: readonly ReleasePreview[] }) {
  const groups = [
    group('Packs, which are then incomplete', previews, 'packs', ({ id, path, title }) => [
      `${id} ${path}`,
      <>
        <Link to={`/packs/${id}`}>{title}</Link>, {path}
      </>,
    ]),
    group('Sources', previews, 'sources', ({ id, url, retrievals }) => [
      id,
      <>
        <Link to={`/sources/${id}`}>{url}</Link>, {countOf(retrievals, 'retrieval')}
      </>,
    ]),
    group(
      'Events, whose differences can no longer be shown',
      previews,
      'events',
      ({ id, url, observed_at }) => [
        String(id),
        <>
          <Link to={`/timeline/${id}`}>Event {formatCount(id)}</Link> of {url}, <TimeText at={observed_at} />
        </>,
      ],
    ),
    group('Page captures', previews, 'pages', ({ id, url }) => [
      id,
      <Link key={id} to={`/pages/${id}`}>
        {url}
      </Link>,
    ]),
    group('Findings', previews, 'findings', ({ id, text }) => [
      id,
      <Link key={id} to={`/findings?state=all&q=${id}`} className="truncate block">
        {text}
      </Link>,
    ]),
    group('Cases', previews, 'cases', ({ id, title }) => [
      id,
      <Link key={id} to={`/cases/${id}`}>
        {title}
      </Link>,
    ]),
    group('Copies, where they are removed with the next sync', previews, 'copies', ({ id, target }) => [
      id,
      placeOf(target),
    ]),
  ].filter((uses) => uses !== undefined);
  if (groups.length === 0) return <p className="muted">Nothing else in this archive names them.</p>;
  return (
    <dl className="stack gap-3 small">
      {groups.map(({ title, total, items }) => (
        <div key={title}>
          <dt>
            {title} ({formatCount(total)})
          </dt>
          {items.slice(0, LISTED).map(([key, item]) => (
            <dd key={key} className="wrap-anywhere">
              {item}
            </dd>
          ))}
          {total > LISTED && <dd className="muted">and {formatCount(total - LISTED)} more</dd>}
        </div>
      ))}
    </dl>
  );
}

type Kind = 'packs' | 'sources' | 'events' | 'pages' | 'findings' | 'cases' | 'copies';
type Keyed = readonly [key: string, item: ReactNode];

interface Group {
  title: string;
  /** What several of the digests share counts once, as far as it is named. */
  total: number;
  items: Keyed[];
}

/** Joins the uses of one kind; undefined if there are none. */
function group<Name extends Kind>(
  title: string,
  previews: readonly ReleasePreview[],
  kind: Name,
  show: (item: ReleasePreview[Name]['items'][number]) => Keyed,
): Group | undefined {
  const items = new Map(previews.flatMap((preview) => preview[kind].items.map(show)));
  const total = Math.max(items.size, ...previews.map((preview) => preview[kind].total));
  return total === 0 ? undefined : { title, total, items: [...items] };
}
