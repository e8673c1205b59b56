import { type Watch, watchedRegion } from '../../../../shared/collection/noise.ts';
import type { ReadDatabase } from '../engine/open.ts';
import { change, one, selectAll } from '../engine/queries.ts';

/** The watched part of a source, and the object in which it is to be looked for. */
export interface WatchedPart {
  key: number;
  watch: Watch;
  /** Null if there is no version yet; `NO_PICTURE` if the newest version has no picture, and a region of it is watched. */
  sha256: string | null;
  /** The object in which it was last looked for. */
  watch_sought: string | null;
}

/** In place of the digest of a picture that there is not: the page could not be drawn, or the answer was no page. */
export const NO_PICTURE = 'none';

/** Whether a content type is one that a browser draws as a page, as SQL. */
export function isPageSql(contentType: string): string {
  return `coalesce(ltrim(${contentType}) LIKE 'text/html%' OR ltrim(${contentType}) LIKE 'application/xhtml+xml%', 0)`;
}

/** What the newest page of a source (`sources`) shows, as SQL. */
const shown = (
  part: 'document' | 'picture',
) => `(SELECT json_extract(record, '$.${part}') FROM page_captures INDEXED BY page_captures_by_source
  WHERE source_key = sources.key AND observer IS NULL ORDER BY started_at DESC, ledger_entry DESC LIMIT 1)`;

/** The object in which the part of a source is watched, as SQL: its newest version, or the newest page as it was drawn. */
const NEWEST = `iif(capture = 'page', ${shown('document')}, last_sha256)`;

/** The picture in which the region of a source is watched, as SQL. */
const NEWEST_PICTURE = `CASE
  WHEN page_error IS NOT NULL THEN '${NO_PICTURE}'
  WHEN NOT (SELECT ${isPageSql('r.content_type')} FROM retrievals r INDEXED BY retrievals_by_source
    WHERE r.source_key = sources.key AND part_of IS NULL AND observer = 'self' AND sha256 IS NOT NULL
    ORDER BY id DESC LIMIT 1) THEN '${NO_PICTURE}'
  ELSE ${shown('picture')} END`;

/** Returns the digest of the object in which a part of a source is watched; undefined if there is none. */
export function newestVersion(database: ReadDatabase, key: number, watch: Watch | null): string | undefined {
  const newest = watchedRegion(watch) ? shown('picture') : NEWEST;
  return (
    one<{ sha256: string | null }>(database, `SELECT ${newest} AS sha256 FROM sources WHERE key = ?`, key)
      ?.sha256 ?? undefined
  );
}

/** Returns the watched parts of sources after a key. */
export const watchedParts = selectAll<
  Omit<WatchedPart, 'watch'> & { watch: string },
  [after: number, limit: number],
  WatchedPart
>(
  `SELECT key, watch, watch_sought,
     iif(json_type(watch, '$.region') IS NULL, ${NEWEST}, ${NEWEST_PICTURE}) AS sha256 FROM sources INDEXED BY sources_with_watch
   WHERE watch IS NOT NULL AND removed = 0 AND key > ? ORDER BY key LIMIT ?`,
  (row) => ({ ...row, watch: JSON.parse(row.watch) as Watch }),
);

/**
 * Records whether the watched part is in an object. Nothing is recorded if another part is watched by now.
 *
 * @param lost_at when it was found to be missing; null if it is there
 */
export const recordSearch = change<
  [found: { key: number; watch: string; sha256: string; lost_at: string | null }]
>(`
  UPDATE sources SET watch_sought = @sha256,
    watch_lost_at = iif(@lost_at IS NULL, NULL, coalesce(watch_lost_at, @lost_at))
  WHERE key = @key AND watch = @watch`);
