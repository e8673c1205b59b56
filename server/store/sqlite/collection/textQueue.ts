import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** The keys of a source's texts are in a range of this size. */
export const KEYS_PER_SOURCE = 1_048_576;

/** A text that is not in the index yet: of a version of a source, or of a pack's file, whose `source_key` is 0. */
export interface PendingText {
  key: number;
  source_key: number;
  sha256: string;
}

/** Returns texts that must be indexed: the newest packs' files, and versions of the newest sources. */
export function pendingTexts(database: ReadDatabase, limit: number): PendingText[] {
  const half = Math.ceil(limit / 2);
  const files = statement<PendingText>(
    database,
    'SELECT * FROM wanted_texts WHERE key < 0 ORDER BY key LIMIT ?',
  ).all(half);
  const versions = statement<PendingText>(
    database,
    'SELECT * FROM wanted_texts WHERE key > 0 ORDER BY key DESC LIMIT ?',
  ).all(limit - files.length);
  return [...versions, ...files];
}

export function countPendingTexts(database: ReadDatabase): number {
  return (
    statement<{ count: number }>(database, 'SELECT count(*) AS count FROM wanted_texts').get()?.count ?? 0
  );
}

/** Queues texts again, under the keys that they have in the index. */
export function queueTexts(database: WriteDatabase, texts: readonly PendingText[]): void {
  for (const text of texts)
    statement(database, 'INSERT OR IGNORE INTO wanted_texts VALUES (@key, @source_key, @sha256)').run(text);
}

/** Removes a text from the queue. */
export function dequeueText(database: WriteDatabase, { key }: PendingText): void {
  statement(database, 'DELETE FROM wanted_texts WHERE key = ?').run(key);
}

/**
 * Returns a page of the indexed texts after a key. `isWanted` is true if the text was deleted, or was derived by a tool
 * that is not in `tools` (`<tool> <version>` each). Used when a node starts.
 */
export function outdatedTexts(
  database: ReadDatabase,
  { after, limit, tools }: { after: number; limit: number; tools: readonly string[] },
): (PendingText & { isWanted: boolean })[] {
  return statement<PendingText & { wanted: number }>(
    database,
    `SELECT i.key, i.source_key, i.sha256, d.key IS NULL
       OR d.tool || ' ' || d.tool_version NOT IN (SELECT value FROM json_each(?)) AS wanted
     FROM indexed_texts i LEFT JOIN derived_documents d ON d.kind = 'text' AND d.subject = i.sha256
     WHERE i.key > ? ORDER BY i.key LIMIT ?`,
  )
    .all(JSON.stringify(tools), after, limit)
    .map(({ wanted, ...text }) => ({ ...text, isWanted: wanted === 1 }));
}

/** Returns a page of the sources after a key, with the current version if it is neither indexed nor queued. */
export function sourcesWithoutText(
  database: ReadDatabase,
  { after, limit }: { after: number; limit: number },
): { source_key: number; sha256: string | null }[] {
  return statement<{ source_key: number; sha256: string | null }>(
    database,
    `SELECT s.key AS source_key, iif(i.key IS NULL AND w.key IS NULL, s.last_sha256, NULL) AS sha256
     FROM sources s
     LEFT JOIN indexed_texts i ON i.source_key = s.key AND i.sha256 = s.last_sha256
     LEFT JOIN wanted_texts w ON w.source_key = s.key AND w.sha256 = s.last_sha256
     WHERE s.key > ? ORDER BY s.key LIMIT ?`,
  ).all(after, limit);
}

/** Queues a version of a source, unless it is queued. It must not be indexed. */
export function queueVersion(database: WriteDatabase, sourceKey: number, sha256: string): void {
  const [from, to] = [sourceKey * KEYS_PER_SOURCE, (sourceKey + 1) * KEYS_PER_SOURCE - 1];
  statement(
    database,
    `INSERT OR IGNORE INTO wanted_texts SELECT 1 + max(
       coalesce((SELECT max(key) FROM wanted_texts WHERE key BETWEEN @from AND @to), @from),
       coalesce((SELECT max(key) FROM indexed_texts WHERE key BETWEEN @from AND @to), @from)), @sourceKey, @sha256`,
  ).run({ sourceKey, sha256, from, to });
}

function queueFile(database: WriteDatabase, sha256: string): void {
  statement(
    database,
    `INSERT OR IGNORE INTO wanted_texts SELECT min(0, coalesce((SELECT min(key) FROM wanted_texts), 0),
       coalesce((SELECT min(key) FROM indexed_texts), 0)) - 1, 0, ?`,
  ).run(sha256);
}

/** How far the events and packs of an older archive are queued: positions in both, added up. */
export interface TextBacklog {
  done: number;
  total: number;
}

/** Returns the backlog of an older archive, or undefined if all of it is queued. */
export function textBacklog(database: ReadDatabase): TextBacklog | undefined {
  const row = statement<{ done: number | null; total: number | null }>(
    database,
    'SELECT sum(done) AS done, sum(last) AS total FROM text_backlog',
  ).get();
  return row?.total ? { done: row.done ?? 0, total: row.total } : undefined;
}

/**
 * Queues the texts of a part of an older archive, and moves the position in the same transaction, so that a node that is
 * killed goes on from there. At the end, the backlog is deleted.
 *
 * @param step the number of events, and of ledger entries of packs.
 */
export function queueBacklog(database: WriteDatabase, step: number): void {
  const rows = statement<{ kind: 'events' | 'packs'; done: number; last: number }>(
    database,
    'SELECT kind, done, last FROM text_backlog',
  ).all();
  for (const { kind, done, last } of rows) {
    const until = Math.min(last, done + step);
    if (kind === 'events') queueEvents(database, done, until);
    else queuePacks(database, done, until);
    if (until < last) statement(database, 'UPDATE text_backlog SET done = ? WHERE kind = ?').run(until, kind);
    else statement(database, 'DELETE FROM text_backlog WHERE kind = ?').run(kind);
  }
}

function queueEvents(database: WriteDatabase, after: number, until: number): void {
  const versions = statement<{ source_key: number; sha256: string }>(
    database,
    `SELECT DISTINCT e.source_key, e.sha256 FROM events e
     WHERE e.id > ? AND e.id <= ? AND e.sha256 IS NOT NULL AND e.event_type IN ('first_seen', 'changed')
       AND NOT EXISTS (SELECT 1 FROM indexed_texts i WHERE i.source_key = e.source_key AND i.sha256 = e.sha256)`,
  ).all(after, until);
  for (const { source_key, sha256 } of versions) queueVersion(database, source_key, sha256);
}

function queuePacks(database: WriteDatabase, after: number, until: number): void {
  const files = statement<{ sha256: string }>(
    database,
    `SELECT DISTINCT f.sha256 FROM pack_files f WHERE f.pack > ? AND f.pack <= ? AND f.bytes > 0
       AND NOT (f.media_type LIKE 'image/%' OR f.media_type LIKE 'audio/%' OR f.media_type LIKE 'video/%'
         OR f.media_type LIKE 'font/%')
       AND NOT EXISTS (SELECT 1 FROM indexed_texts i WHERE i.source_key = 0 AND i.sha256 = f.sha256)`,
  ).all(after, until);
  for (const { sha256 } of files) queueFile(database, sha256);
}
