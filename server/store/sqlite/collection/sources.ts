import type { EventType } from '../../../../shared/event.ts';
import type { NoiseRule } from '../../../../shared/noise.ts';
import type { RetrievalError, SourceState } from '../../../../shared/source.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';
import { rulesDigest } from './eventNoise.ts';

/** What the owner says of a source. */
export interface SourceSettings {
  name: string;
  agency: string;
  tags: string[];
  every_minutes: number | null;
  max_object_mb: number | null;
  ignore_robots: boolean;
  headers: Record<string, string>;
  /** What of its versions is no news. */
  noise_rules: NoiseRule[];
  paused: boolean;
  /** Whether it may be at a private address; null where nobody decided, and its address says so itself. */
  allow_private: boolean | null;
}

/** How a source stands: what the table of states counts, and what the last check met. */
export interface SourceCheckState {
  state: SourceState;
  failures: number;
  missing_since: string | null;
  consecutive: number;
  failing_since: string | null;
}

export interface SourceRow extends SourceSettings, SourceCheckState {
  key: number;
  id: string;
  url: string;
  removed: boolean;
  added_at: string;
  /** The ledger entry of its newest revision. */
  revision: number;
  last_checked_at: string | null;
  next_check_at: string | null;
  last_status: number | null;
  last_error: RetrievalError | null;
  last_sha256: string | null;
  last_event_type: EventType | null;
  /** What its noise rules are known by; null where there are none. */
  rules_digest: string | null;
  /** How many bytes were not stored for want of room, where the last check ended so. */
  refused_bytes: number | null;
}

/** A source as SQLite holds it. */
export type StoredSource = Omit<
  SourceRow,
  'tags' | 'headers' | 'noise_rules' | 'ignore_robots' | 'paused' | 'removed' | 'allow_private'
> & {
  tags: string;
  headers: string;
  noise_rules: string | null;
  ignore_robots: number;
  paused: number;
  removed: number;
  allow_private: number | null;
};

/** @throws SyntaxError where the row is damaged. */
export function fromStored(row: StoredSource): SourceRow {
  return readWith(row, (text) => JSON.parse(text));
}

/** The same for whoever only shows it: of a damaged row all but what cannot be read, so that the others are shown too. */
function shownFromStored(row: StoredSource): SourceRow {
  return readWith(row, (text, empty) => {
    try {
      return JSON.parse(text);
    } catch (error) {
      if (error instanceof SyntaxError) return empty;
      throw error;
    }
  });
}

function readWith(row: StoredSource, parse: (text: string, empty: unknown) => unknown): SourceRow {
  return {
    ...row,
    tags: parse(row.tags, []) as string[],
    headers: parse(row.headers, {}) as Record<string, string>,
    noise_rules: row.noise_rules === null ? [] : (parse(row.noise_rules, []) as NoiseRule[]),
    ignore_robots: row.ignore_robots === 1,
    paused: row.paused === 1,
    removed: row.removed === 1,
    allow_private: row.allow_private === null ? null : row.allow_private === 1,
  };
}

/** @throws SyntaxError where the row is damaged. */
export function sourceByKey(database: ReadDatabase, key: number): SourceRow | undefined {
  const row = statement<StoredSource>(database, 'SELECT * FROM sources WHERE key = ?').get(key);
  return row && fromStored(row);
}

/** Watched or removed. */
export function sourceById(database: ReadDatabase, id: string): SourceRow | undefined {
  const row = statement<StoredSource>(database, 'SELECT * FROM sources WHERE id = ?').get(id);
  return row && shownFromStored(row);
}

/** The key of a source, watched or removed. */
export function sourceKeyOf(database: ReadDatabase, id: string): number | undefined {
  return statement<{ key: number }>(database, 'SELECT key FROM sources WHERE id = ?').get(id)?.key;
}

export function insertSource(
  database: WriteDatabase,
  source: SourceSettings & Pick<SourceRow, 'id' | 'url' | 'added_at' | 'revision' | 'next_check_at'>,
): number {
  const { lastInsertRowid } = statement(
    database,
    `INSERT INTO sources (id, url, name, agency, tags, every_minutes, max_object_mb, ignore_robots, headers,
       noise_rules, rules_digest, paused, allow_private, removed, added_at, revision, state, failures, consecutive, next_check_at)
     VALUES (@id, @url, @name, @agency, @tags, @every_minutes, @max_object_mb, @ignore_robots, @headers,
       @noise_rules, @rules_digest, @paused, @allow_private, 0, @added_at, @revision, 'new', 0, 0, @next_check_at)`,
  ).run({ ...settingsForSql(source), ...identityForSql(source) });
  const key = Number(lastInsertRowid);
  indexSource(database, key, source);
  return key;
}

function identityForSql(source: Pick<SourceRow, 'id' | 'url' | 'added_at' | 'revision' | 'next_check_at'>) {
  const { id, url, added_at, revision, next_check_at } = source;
  return { id, url, added_at, revision, next_check_at };
}

/** Writes what the owner says of a source anew; its standing stays. */
export function updateSource(
  database: WriteDatabase,
  source: SourceSettings &
    Pick<SourceRow, 'key' | 'url' | 'added_at' | 'revision' | 'next_check_at' | 'removed'>,
): void {
  takeTagsAway(database, source.key);
  statement(
    database,
    `UPDATE sources SET name = @name, agency = @agency, tags = @tags, every_minutes = @every_minutes,
       max_object_mb = @max_object_mb, ignore_robots = @ignore_robots, headers = @headers, noise_rules = @noise_rules,
       rules_digest = @rules_digest, paused = @paused, allow_private = @allow_private, removed = @removed, added_at = @added_at, revision = @revision, next_check_at = @next_check_at
     WHERE key = @key`,
  ).run({
    ...settingsForSql(source),
    key: source.key,
    removed: Number(source.removed),
    added_at: source.added_at,
    revision: source.revision,
    next_check_at: source.next_check_at,
  });
  indexSource(database, source.key, source);
}

function settingsForSql(source: SourceSettings) {
  return {
    name: source.name,
    agency: source.agency,
    tags: JSON.stringify(source.tags),
    every_minutes: source.every_minutes,
    max_object_mb: source.max_object_mb,
    ignore_robots: Number(source.ignore_robots),
    headers: JSON.stringify(source.headers),
    noise_rules: source.noise_rules.length > 0 ? JSON.stringify(source.noise_rules) : null,
    rules_digest: rulesDigest(source.noise_rules),
    paused: Number(source.paused),
    allow_private: source.allow_private === null ? null : Number(source.allow_private),
  };
}

/** Found by the tags that its row bears until now, if they can be read: they lie in the order of the tags, not of the sources. */
function takeTagsAway(database: WriteDatabase, key: number): void {
  const isReadable = statement<{ valid: number }>(
    database,
    'SELECT json_valid(tags) AS valid FROM sources WHERE key = ?',
  ).get(key)?.valid;
  statement(
    database,
    `DELETE FROM source_tags WHERE source_key = @key
     ${isReadable ? 'AND tag IN (SELECT value FROM json_each((SELECT tags FROM sources WHERE key = @key)))' : ''}`,
  ).run({ key });
}

/**
 * What `q` and `tag` find a source by that has no tags yet; the address also as a reader would type it, without percent
 * signs.
 */
export function indexSource(
  database: WriteDatabase,
  key: number,
  { url, name, agency, tags }: Pick<SourceRow, 'url' | 'name' | 'agency' | 'tags'>,
): void {
  statement(
    database,
    'INSERT OR REPLACE INTO source_text (rowid, url, name, agency, tags) VALUES (?, ?, ?, ?, ?)',
  ).run(key, `${url} ${readableUrl(url)}`, name, agency, tags.join(' \n'));
  for (const tag of new Set(tags)) {
    statement(database, 'INSERT INTO source_tags (tag, source_key) VALUES (?, ?)').run(tag, key);
  }
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

/** Writes where a source stands after a check that counted. */
export function updateCheckState(
  database: WriteDatabase,
  key: number,
  standing: SourceCheckState &
    Pick<
      SourceRow,
      'last_checked_at' | 'last_status' | 'last_error' | 'last_sha256' | 'last_event_type' | 'refused_bytes'
    >,
): void {
  statement(
    database,
    `UPDATE sources SET state = @state, failures = @failures, missing_since = @missing_since,
       consecutive = @consecutive, failing_since = @failing_since, last_checked_at = @last_checked_at,
       last_status = @last_status, last_error = @last_error, last_sha256 = @last_sha256,
       last_event_type = @last_event_type, refused_bytes = @refused_bytes
     WHERE key = @key`,
  ).run({ ...standing, key });
}

/** Writes that the node itself failed to check a source; the row may be damaged, and is not read. Its state stays. */
export function recordInternalFailure(
  database: WriteDatabase,
  fault: { key: number; error: RetrievalError; at: string; next_check_at: string },
): void {
  statement(
    database,
    `UPDATE sources SET consecutive = consecutive + 1, failing_since = coalesce(failing_since, @at),
       last_checked_at = @at, last_status = NULL, last_error = @error, next_check_at = @next_check_at
     WHERE key = @key`,
  ).run(fault);
}

/** What is watched and not paused, in SQL. */
export const WATCHED = 'removed = 0 AND paused = 0';

/** A source that is to be checked: of thousands, the whole rows are read as their turn comes. */
export type SourceToCheck = Pick<SourceRow, 'key' | 'url'>;

/** Sources that are watched and not paused, in the order they were added. */
export function activeSources(database: ReadDatabase): SourceToCheck[] {
  return statement<SourceToCheck>(
    database,
    `SELECT key, url FROM sources WHERE ${WATCHED} ORDER BY key`,
  ).all();
}

/** Sources whose last counted answer was a failure, longest failing first. */
export function failingSources(database: ReadDatabase): SourceRow[] {
  return statement<StoredSource>(
    database,
    'SELECT * FROM sources WHERE removed = 0 AND failing_since IS NOT NULL ORDER BY failing_since, key',
  )
    .all()
    .map(shownFromStored);
}

export function countSourcesIn(database: ReadDatabase, state: SourceState): number {
  return (
    statement<{ count: number }>(
      database,
      'SELECT count(*) AS count FROM sources WHERE removed = 0 AND state = ?',
    ).get(state)?.count ?? 0
  );
}

/** The least number of bytes that a source's last check could not store, or undefined where none was refused. */
export function leastRefusedBytes(database: ReadDatabase): number | undefined {
  return (
    statement<{ bytes: number | null }>(
      database,
      'SELECT min(refused_bytes) AS bytes FROM sources WHERE removed = 0 AND refused_bytes IS NOT NULL',
    ).get()?.bytes ?? undefined
  );
}

/** Which watched sources a list names; null names all. */
export interface SourceFilter {
  match: string | null;
  agency: string | null;
  tag: string | null;
  state: SourceState | null;
}

/** One page of the watched sources, newest first, and how many there are. */
export function listSourceRows(
  database: ReadDatabase,
  filter: SourceFilter,
  { limit, offset }: { limit: number; offset: number },
): { rows: SourceRow[]; total: number } {
  const where = ['removed = 0', ...sourceConditions(filter)];
  if (filter.state !== null) where.push('state = @state');
  const from = `FROM sources WHERE ${where.join(' AND ')}`;
  const rows = statement<StoredSource>(
    database,
    `SELECT * ${from} ORDER BY key DESC LIMIT @limit OFFSET @offset`,
  )
    .all({ ...filter, limit, offset })
    .map(shownFromStored);
  const total = statement<{ count: number }>(database, `SELECT count(*) AS count ${from}`).get(filter)?.count;
  return { rows, total: total ?? 0 };
}

/** The conditions on `sources` of a filter's text, agency and tag, with named parameters. */
export function sourceConditions(filter: Omit<SourceFilter, 'state'>): string[] {
  const where: string[] = [];
  if (filter.match !== null)
    where.push('key IN (SELECT rowid FROM source_text WHERE source_text MATCH @match)');
  if (filter.agency !== null) where.push('agency = @agency');
  if (filter.tag !== null) where.push('key IN (SELECT source_key FROM source_tags WHERE tag = @tag)');
  return where;
}
