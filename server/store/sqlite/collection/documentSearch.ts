import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** A source whose current version is not in the text index yet. */
export interface PendingText {
  source_key: number;
  sha256: string;
}

/** Returns sources whose text must be indexed, in the order of their keys. */
export function pendingTexts(database: ReadDatabase, limit: number): PendingText[] {
  return statement<PendingText>(
    database,
    `SELECT w.source_key, s.last_sha256 AS sha256 FROM wanted_texts w JOIN sources s ON s.key = w.source_key
     ORDER BY w.source_key LIMIT ?`,
  ).all(limit);
}

/**
 * Returns a page of the sources after a key. `isWanted` is true if the current version is not in the index, or if its
 * text was derived by a tool that is not in `tools` (`<tool> <version>` each). Used when a node starts.
 */
export function sourcesWithoutText(
  database: ReadDatabase,
  { after, limit, tools }: { after: number; limit: number; tools: readonly string[] },
): { source_key: number; isWanted: boolean }[] {
  return statement<{ source_key: number; wanted: number }>(
    database,
    `SELECT s.key AS source_key, s.last_sha256 IS NOT NULL AND (
       i.sha256 IS NOT s.last_sha256 OR d.key IS NULL
       OR d.tool || ' ' || d.tool_version NOT IN (SELECT value FROM json_each(?))) AS wanted
     FROM sources s
     LEFT JOIN indexed_texts i ON i.source_key = s.key
     LEFT JOIN derived_documents d ON d.kind = 'text' AND d.subject = s.last_sha256
     WHERE s.key > ? ORDER BY s.key LIMIT ?`,
  )
    .all(JSON.stringify(tools), after, limit)
    .map(({ source_key, wanted }) => ({ source_key, isWanted: wanted === 1 }));
}

/** Queues sources for text indexing. */
export function queueTexts(database: WriteDatabase, sourceKeys: readonly number[]): void {
  for (const key of sourceKeys) statement(database, 'INSERT OR IGNORE INTO wanted_texts VALUES (?)').run(key);
}

/** Removes a source from the queue, unless its version has changed again meanwhile. */
export function dequeueText(database: WriteDatabase, { source_key, sha256 }: PendingText): void {
  statement(
    database,
    `DELETE FROM wanted_texts WHERE source_key = ?
     AND ? IS (SELECT last_sha256 FROM sources WHERE key = ?)`,
  ).run(source_key, sha256, source_key);
}

/** Indexes the text of a source's version; `document` is undefined if the version has no text. */
export function indexText(
  database: WriteDatabase,
  { source_key, sha256 }: PendingText,
  document: { title: string; text: string } | undefined,
): void {
  statement(database, 'DELETE FROM document_text WHERE rowid = ?').run(source_key);
  if (document)
    statement(database, 'INSERT INTO document_text (rowid, title, text) VALUES (?, ?, ?)').run(
      source_key,
      document.title,
      document.text,
    );
  statement(
    database,
    'INSERT INTO indexed_texts VALUES (?, ?) ON CONFLICT DO UPDATE SET sha256 = excluded.sha256',
  ).run(source_key, sha256);
}

/** A search result: a source whose current version's text matches. */
export interface FoundText {
  id: string;
  url: string;
  name: string;
  agency: string;
  tags: string[];
  sha256: string;
  observed_at: string;
  title: string | null;
  tool: string;
  tool_version: string;
  made_at: string;
}

/**
 * Returns a page of the watched sources whose indexed text matches, or of all with a text if `match` is null, newest
 * source first, and the total number. The results are not ranked: ranking would have to read every match first.
 */
export function searchTexts(
  database: ReadDatabase,
  match: string | null,
  { limit, offset }: { limit: number; offset: number },
): { rows: FoundText[]; total: number } {
  const from = `FROM indexed_texts i
    JOIN sources s ON s.key = i.source_key AND s.removed = 0
    JOIN derived_documents d ON d.kind = 'text' AND d.subject = i.sha256 AND d.outcome = 'made'`;
  const where =
    match === null
      ? ''
      : 'WHERE i.source_key IN (SELECT rowid FROM document_text WHERE document_text MATCH @match)';
  const parameters = match === null ? {} : { match };
  const rows = statement<Omit<FoundText, 'tags'> & { tags: string }>(
    database,
    `SELECT s.id, s.url, s.name, s.agency, s.tags, i.sha256, d.title, d.tool, d.tool_version, d.made_at, coalesce((
         SELECT e.observed_at FROM events e WHERE e.sha256 = i.sha256 AND e.source_key = s.key
           AND e.event_type IN ('first_seen', 'changed') ORDER BY e.observer = 'self' DESC, e.id DESC LIMIT 1
       ), s.last_checked_at, s.added_at) AS observed_at
     ${from} ${where} ORDER BY i.source_key DESC LIMIT @limit OFFSET @offset`,
  )
    .all({ ...parameters, limit, offset })
    .map((row) => ({ ...row, tags: JSON.parse(row.tags) as string[] }));
  const total = statement<{ count: number }>(database, `SELECT count(*) AS count ${from} ${where}`).get(
    parameters,
  )?.count;
  return { rows, total: total ?? 0 };
}
