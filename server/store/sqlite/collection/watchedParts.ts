import type { Watch } from '../../../../shared/collection/noise.ts';
import type { ReadDatabase } from '../engine/open.ts';
import { change, one, selectAll } from '../engine/queries.ts';

/** The watched part of a source, and the object in which it is to be looked for. */
export interface WatchedPart {
  key: number;
  watch: Watch;
  /** Null if there is no version yet. */
  sha256: string | null;
  /** The object in which it was last looked for. */
  watch_sought: string | null;
}

/** The object in which the part of a source is watched, as SQL: its newest version, or the newest page as it was drawn. */
const NEWEST = `iif(capture = 'page', (
  SELECT json_extract(record, '$.document') FROM page_captures INDEXED BY page_captures_by_source
  WHERE source_key = sources.key AND observer IS NULL ORDER BY started_at DESC, ledger_entry DESC LIMIT 1), last_sha256)`;

/** Returns the digest of the object in which the part of a source is watched; undefined if there is none. */
export function newestVersion(database: ReadDatabase, key: number): string | undefined {
  return (
    one<{ sha256: string | null }>(database, `SELECT ${NEWEST} AS sha256 FROM sources WHERE key = ?`, key)
      ?.sha256 ?? undefined
  );
}

/** Returns the watched parts of sources after a key. */
export const watchedParts = selectAll<
  Omit<WatchedPart, 'watch'> & { watch: string },
  [after: number, limit: number],
  WatchedPart
>(
  `SELECT key, watch, watch_sought, ${NEWEST} AS sha256 FROM sources INDEXED BY sources_with_watch
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
