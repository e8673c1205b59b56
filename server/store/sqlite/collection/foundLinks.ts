import type { FollowRun, FoundLink, FoundState } from '../../../../shared/collection/follow.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

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

export function foundLinksOf(database: ReadDatabase, sourceKey: number): FoundLinkRow[] {
  return statement<FoundLinkRow>(
    database,
    'SELECT * FROM found_links WHERE source_key = ? ORDER BY found_at, id',
  ).all(sourceKey);
}

/** Inserts an address, or replaces what is known of it. */
export function putFoundLink(database: WriteDatabase, link: FoundLinkRow): void {
  statement(
    database,
    `INSERT INTO found_links (source_key, id, url, title, state, found_at, unlinked_at)
     VALUES (@source_key, @id, @url, @title, @state, @found_at, @unlinked_at)
     ON CONFLICT DO UPDATE SET title = @title, state = @state, unlinked_at = @unlinked_at`,
  ).run(link);
}

export function deleteFoundLink(
  database: WriteDatabase,
  { source_key, id }: Pick<FoundLinkRow, 'source_key' | 'id'>,
): void {
  statement(database, 'DELETE FROM found_links WHERE source_key = ? AND id = ?').run(source_key, id);
}

/** Deletes the addresses of a source that wait, and forgets that its newest version was read. */
export function forgetWaitingLinks(database: WriteDatabase, sourceKey: number): void {
  statement(database, "DELETE FROM found_links WHERE source_key = ? AND state = 'waiting'").run(sourceKey);
  forgetFollowRun(database, sourceKey);
}

/** Sets the state of an address in every source in which it was found. */
export function setFoundState(database: WriteDatabase, id: string, state: FoundState): void {
  statement(database, 'UPDATE found_links SET state = ? WHERE id = ?').run(state, id);
}

/** Returns where a waiting address was first found, or undefined if it does not wait. */
export function waitingLink(database: ReadDatabase, id: string): FoundLinkRow | undefined {
  return statement<FoundLinkRow>(
    database,
    "SELECT * FROM found_links WHERE id = ? AND state = 'waiting' ORDER BY found_at, source_key LIMIT 1",
  ).get(id);
}

/** Returns the ids of waiting addresses, oldest first. */
export function waitingIds(
  database: ReadDatabase,
  { source, limit }: { source: string | null; limit: number },
): string[] {
  return statement<string>(
    database,
    `SELECT id FROM found_links WHERE state = 'waiting' ${source === null ? '' : 'AND source_key = (SELECT key FROM sources WHERE id = @source)'}
     GROUP BY id ORDER BY min(found_at), id LIMIT @limit`,
  )
    .pluck()
    .all({ source, limit });
}

/** Returns how many addresses wait or are watched, of a source or over all. */
export function countFollowed(database: ReadDatabase, sourceKey: number | null = null): number {
  return (
    statement<number>(
      database,
      `SELECT count(*) FROM found_links f WHERE ${sourceKey === null ? '' : 'f.source_key = @sourceKey AND'}
         (f.state = 'waiting' OR (f.state = 'added'
           AND EXISTS (SELECT 1 FROM sources s WHERE s.id = f.id AND s.removed = 0)))`,
    )
      .pluck()
      .get({ sourceKey }) ?? 0
  );
}

/** Returns how many addresses of a source wait. */
export function countWaiting(database: ReadDatabase, sourceKey: number): number {
  return (
    statement<number>(database, "SELECT count(*) FROM found_links WHERE source_key = ? AND state = 'waiting'")
      .pluck()
      .get(sourceKey) ?? 0
  );
}

type Stored = Omit<FoundLinkRow, 'source_key'> & { source: string; source_url: string; source_name: string };

/** Returns a page of the found addresses of watched sources, and the number of all. */
export function listFoundLinks(
  database: ReadDatabase,
  { state, source }: { state: FoundState | null; source: string | null },
  { limit, offset }: { limit: number; offset: number },
): { items: FoundLink[]; total: number } {
  const where = ['s.removed = 0'];
  if (state !== null) where.push(state === 'waiting' ? "f.state = 'waiting'" : 'f.state = @state');
  if (source !== null) where.push('s.id = @source');
  const from = `FROM found_links f JOIN sources s ON s.key = f.source_key WHERE ${where.join(' AND ')}`;
  const items = statement<Stored>(
    database,
    `SELECT f.id, f.url, f.title, f.state, f.found_at, f.unlinked_at, s.id AS source, s.url AS source_url,
       s.name AS source_name ${from} ORDER BY f.source_key DESC, f.state <> 'waiting', f.found_at DESC, f.url
     LIMIT @limit OFFSET @offset`,
  )
    .all({ state, source, limit, offset })
    .map(({ source: id, source_url, source_name, ...link }) => ({
      ...link,
      found_in: { id, url: source_url, name: source_name },
    }));
  const total = statement<number>(database, `SELECT count(*) ${from}`).pluck().get({ state, source });
  return { items, total: total ?? 0 };
}

/** Returns since when a source is no longer linked by the source in which it was found. */
export function unlinkedAt(database: ReadDatabase, id: string, foundIn: string): string | null {
  return (
    statement<string | null>(
      database,
      'SELECT unlinked_at FROM found_links WHERE id = ? AND source_key = (SELECT key FROM sources WHERE id = ?)',
    )
      .pluck()
      .get(id, foundIn) ?? null
  );
}

export function followRun(database: ReadDatabase, sourceKey: number): FollowRunRow | undefined {
  const row = statement<Omit<FollowRunRow, 'is_index' | 'complete'> & { is_index: number; complete: number }>(
    database,
    'SELECT * FROM follow_runs WHERE source_key = ?',
  ).get(sourceKey);
  return row && { ...row, is_index: row.is_index === 1, complete: row.complete === 1 };
}

export function putFollowRun(database: WriteDatabase, run: FollowRunRow): void {
  statement(
    database,
    `INSERT OR REPLACE INTO follow_runs
       (source_key, sha256, settings, is_index, at, listed, matched, complete, problem)
     VALUES (@source_key, @sha256, @settings, @is_index, @at, @listed, @matched, @complete, @problem)`,
  ).run({ ...run, is_index: Number(run.is_index), complete: Number(run.complete) });
}

export function forgetFollowRun(database: WriteDatabase, sourceKey: number): void {
  statement(database, 'DELETE FROM follow_runs WHERE source_key = ?').run(sourceKey);
}

/** Forgets that the sources were read in which an address was found. */
export function forgetFollowRunsWith(database: WriteDatabase, id: string): void {
  statement(
    database,
    'DELETE FROM follow_runs WHERE source_key IN (SELECT source_key FROM found_links WHERE id = ?)',
  ).run(id);
}

/** The newest own retrieval that gave a version of a source. */
export function retrievalOfVersion(
  database: ReadDatabase,
  sourceKey: number,
  sha256: string,
): { final_url: string; page_label: string | null } | undefined {
  return statement<{ final_url: string; page_label: string | null }>(
    database,
    `SELECT final_url, page_label FROM retrievals
     WHERE source_key = ? AND observer = 'self' AND sha256 = ? AND error IS NULL ORDER BY id DESC LIMIT 1`,
  ).get(sourceKey, sha256);
}
