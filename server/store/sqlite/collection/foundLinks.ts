import type { PageLabel } from '../../../../shared/collection/event.ts';
import type { FollowRun, FoundLink, FoundState } from '../../../../shared/collection/follow.ts';
import type { Slice } from '../../../../shared/values/list.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  change,
  columnOf,
  count,
  countRows,
  type Place,
  page,
  selectAll,
  selectOne,
  selectValue,
  updates,
  upserts,
  where,
} from '../engine/queries.ts';
import { parsePageLabel } from './retrievals.ts';

/** An address that a followed source links to. */
export interface FoundLinkRow {
  source_key: number;
  id: string;
  url: string;
  title: string;
  state: FoundState;
  found_at: string;
  unlinked_at: string | null;
}

/** The newest reading of a followed source. */
export interface FollowRunRow extends FollowRun {
  source_key: number;
  sha256: string;
  /** The digest of the settings that it was read with. */
  settings: string;
  /** Whether it is an index of sitemaps, which must be read again at each check. */
  is_index: boolean;
}

export const foundLinksOf = selectAll<FoundLinkRow, [sourceKey: number]>(
  'SELECT * FROM found_links WHERE source_key = ? ORDER BY found_at, id',
);

/** Inserts an address, or replaces what is known of it. */
export const putFoundLink = change<[link: FoundLinkRow]>(`
  INSERT INTO found_links (source_key, id, url, title, state, found_at, unlinked_at)
  VALUES ($source_key, $id, $url, $title, $state, $found_at, $unlinked_at)
  ON CONFLICT DO UPDATE SET title = $title, state = $state, unlinked_at = $unlinked_at`);

export const deleteFoundLink = change<[values: Pick<FoundLinkRow, 'source_key' | 'id'>]>(
  'DELETE FROM found_links WHERE source_key = $source_key AND id = $id',
);

/** Deletes the addresses of a source that wait, and forgets that its newest version was read. */
export function forgetWaitingLinks(database: WriteDatabase, sourceKey: number): void {
  deleteWaiting(database, sourceKey);
  forgetFollowRun(database, sourceKey);
}
const deleteWaiting = change<[sourceKey: number]>(
  "DELETE FROM found_links WHERE source_key = ? AND state = 'waiting'",
);

/** Sets the state of an address in every source in which it was found. */
export const setFoundState = updates<{ id: string; state: FoundState }>('found_links', {
  key: 'id',
  columns: 'state',
});

/** Returns where a waiting address was first found, or undefined if it does not wait. */
export const waitingLink = selectOne<FoundLinkRow, [id: string]>(
  "SELECT * FROM found_links WHERE id = ? AND state = 'waiting' ORDER BY found_at, source_key LIMIT 1",
);

/** Returns the ids of waiting addresses, oldest first. */
export function waitingIds(
  database: ReadDatabase,
  { source, limit }: { source: string | null; limit: number },
): string[] {
  const selected = where(
    ["state = 'waiting'"],
    source !== null && ['source_key = (SELECT key FROM sources WHERE id = ?)', source],
  );
  const sql = `SELECT id FROM found_links ${selected.where} GROUP BY id ORDER BY min(found_at), id LIMIT ?`;
  return columnOf<string>(database, sql, ...selected.values, limit);
}

/** Returns how many addresses wait or are watched, of a source or over all. */
export function countFollowed(database: ReadDatabase, sourceKey: number | null = null): number {
  const selected = where(sourceKey !== null && ['f.source_key = ?', sourceKey], [
    `(f.state = 'waiting' OR (f.state = 'added'
       AND EXISTS (SELECT 1 FROM sources s WHERE s.id = f.id AND s.removed = 0)))`,
  ]);
  return count(database, `found_links f ${selected.where}`, ...selected.values);
}

/** Returns how many addresses of a source wait. */
export const countWaiting = countRows<[sourceKey: number]>(
  "found_links WHERE source_key = ? AND state = 'waiting'",
);

type Stored = Omit<FoundLinkRow, 'source_key'> & { source: string; source_url: string; source_name: string };

/** Returns a page of the found addresses of watched sources, and the number of all. */
export function listFoundLinks(
  database: ReadDatabase,
  { state, source }: { state: FoundState | null; source: string | null },
  place: Place,
): Slice<FoundLink> {
  const selected = where(
    ['s.removed = 0'],
    state === 'waiting' && ["f.state = 'waiting'"],
    state !== null && state !== 'waiting' && ['f.state = ?', state],
    source !== null && ['s.id = ?', source],
  );
  const { items, total } = page<Stored>(
    database,
    {
      columns: `f.id, f.url, f.title, f.state, f.found_at, f.unlinked_at, s.id AS source, s.url AS source_url,
        s.name AS source_name`,
      from: `found_links f JOIN sources s ON s.key = f.source_key ${selected.where}`,
      order: "f.source_key DESC, f.state <> 'waiting', f.found_at DESC, f.url",
      values: selected.values,
    },
    place,
  );
  const withSource = ({ source: id, source_url, source_name, ...link }: Stored) => ({
    ...link,
    found_in: { id, url: source_url, name: source_name },
  });
  return { items: items.map(withSource), total };
}

/** Returns since when a source is no longer linked by the source in which it was found. */
export function unlinkedAt(database: ReadDatabase, id: string, foundIn: string): string | null {
  return whenUnlinked(database, id, foundIn) ?? null;
}

const whenUnlinked = selectValue<string, [id: string, foundIn: string]>(
  'SELECT unlinked_at FROM found_links WHERE id = ? AND source_key = (SELECT key FROM sources WHERE id = ?)',
);

export const followRun = selectOne<
  Omit<FollowRunRow, 'is_index' | 'complete'> & { is_index: number; complete: number },
  [sourceKey: number],
  FollowRunRow
>('SELECT * FROM follow_runs WHERE source_key = ?', (row) => ({
  ...row,
  is_index: row.is_index === 1,
  complete: row.complete === 1,
}));

export function putFollowRun(database: WriteDatabase, run: FollowRunRow): void {
  putRun(database, { ...run, is_index: Number(run.is_index), complete: Number(run.complete) });
}

const putRun = upserts<Omit<FollowRunRow, 'is_index' | 'complete'> & { is_index: number; complete: number }>(
  'follow_runs',
  { key: 'source_key', columns: 'sha256, settings, is_index, at, listed, matched, complete, problem' },
);

/** No settings have this digest. The version stays known, because the texts of links that are kept are from it. */
const FORGOTTEN = '';

/** Has the newest version of a source read again. */
export const forgetFollowRun = change<[sourceKey: number]>(
  `UPDATE follow_runs SET settings = '${FORGOTTEN}' WHERE source_key = ?`,
);

/** Has the sources read again in which an address was found. */
export const forgetFollowRunsWith = change<[id: string]>(
  `UPDATE follow_runs SET settings = '${FORGOTTEN}'
     WHERE source_key IN (SELECT source_key FROM found_links WHERE id = ?)`,
);

/** Returns whether the version of a reading is to be read again. */
export function isForgotten({ settings }: Pick<FollowRunRow, 'settings'>): boolean {
  return settings === FORGOTTEN;
}

/** The newest own retrieval that gave a version of a source. */
export const retrievalOfVersion = selectOne<
  { final_url: string; page_label: string | null },
  [sourceKey: number, sha256: string],
  { final_url: string; page_label: PageLabel | null }
>(
  `SELECT final_url, page_label FROM retrievals
     WHERE source_key = ? AND part_of IS NULL AND observer = 'self' AND sha256 = ? AND error IS NULL ORDER BY id DESC LIMIT 1`,
  (row) => ({ ...row, page_label: parsePageLabel(row.page_label) }),
);
