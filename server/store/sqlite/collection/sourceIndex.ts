import { statement, type WriteDatabase } from '../engine/open.ts';
import type { SourceRow } from './sourceRow.ts';

/**
 * Indexes a source for the parameters `q` and `tag`. It must have no indexed tags yet. The URL is also indexed
 * percent-decoded, as a person would type it.
 */
export function indexSource(
  database: WriteDatabase,
  key: number,
  source: Pick<SourceRow, 'url' | 'name' | 'agency' | 'tags'>,
): void {
  indexText(database, key, source);
  for (const tag of new Set(source.tags)) {
    statement(database, 'INSERT INTO source_tags (tag, source_key) VALUES (?, ?)').run(tag, key);
  }
}

/** Indexes the texts of a source in place of those before, for the parameter `q`. */
export function indexText(
  database: WriteDatabase,
  key: number,
  { url, name, agency, tags }: Pick<SourceRow, 'url' | 'name' | 'agency' | 'tags'>,
): void {
  statement(
    database,
    'INSERT OR REPLACE INTO source_text (rowid, url, name, agency, tags) VALUES (?, ?, ?, ?, ?)',
  ).run(key, `${url} ${readableUrl(url)}`, name, agency, tags.join(' \n'));
}

function readableUrl(url: string): string {
  if (!url.includes('%')) return '';
  try {
    return decodeURIComponent(url);
  } catch (error) {
    if (error instanceof URIError) return '';
    throw error;
  }
}

/** Deletes the tags of a source from the index. The index is ordered by tag, so the row's tags are used if readable. */
export function deleteTags(database: WriteDatabase, key: number): void {
  const row = statement<{ tags: string; isReadable: number }>(
    database,
    'SELECT tags, json_valid(tags) AS isReadable FROM sources WHERE key = ?',
  ).get(key);
  if (row?.tags === '[]') return;
  statement(
    database,
    `DELETE FROM source_tags WHERE source_key = @key
     ${row?.isReadable ? 'AND tag IN (SELECT value FROM json_each((SELECT tags FROM sources WHERE key = @key)))' : ''}`,
  ).run({ key });
}
