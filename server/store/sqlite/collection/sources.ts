import type { RetrievalError } from '../../../../shared/collection/retrieval.ts';
import type { SourceOrder, SourceState, SourcesQuery } from '../../../../shared/collection/source.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';
import { type SourceFilter, sourceConditions } from './sourceFilter.ts';
import { deleteTags, indexSource, indexText } from './sourceIndex.ts';
import {
  parseSourceRow,
  parseSourceRowForDisplay,
  type SourceCheckState,
  type SourceRow,
  type SourceSettings,
  type StoredSource,
} from './sourceRow.ts';
import { rulesDigest } from './timeline/eventNoise.ts';

export type { SourceRow, SourceSettings } from './sourceRow.ts';

/** Returns a source by key. @throws SyntaxError if the row is damaged */
export function sourceByKey(database: ReadDatabase, key: number): SourceRow | undefined {
  const row = statement<StoredSource>(database, 'SELECT * FROM sources WHERE key = ?').get(key);
  return row && parseSourceRow(row);
}

/** Returns a source by id, whether watched or removed. */
export function sourceById(database: ReadDatabase, id: string): SourceRow | undefined {
  const row = statement<StoredSource>(database, 'SELECT * FROM sources WHERE id = ?').get(id);
  return row && parseSourceRowForDisplay(row);
}

/** Returns the key of a source, whether watched or removed. */
export function sourceKeyOf(database: ReadDatabase, id: string): number | undefined {
  return statement<{ key: number }>(database, 'SELECT key FROM sources WHERE id = ?').get(id)?.key;
}

/** Returns the id of the source in which a source was found, or null if it was not; undefined if there is no such source. */
export function whereFound(database: ReadDatabase, id: string): string | null | undefined {
  return statement<{ found_in: string | null }>(database, 'SELECT found_in FROM sources WHERE id = ?').get(id)
    ?.found_in;
}

export function insertSource(
  database: WriteDatabase,
  source: SourceSettings & Pick<SourceRow, 'id' | 'url' | 'added_at' | 'revision' | 'next_check_at'>,
): number {
  const { lastInsertRowid } = statement(
    database,
    `INSERT INTO sources (id, url, name, agency, tags, every_minutes, max_object_mb, ignore_robots, headers,
       noise_rules, rules_digest, paused, allow_private,
       every, time_zone, active_hours, follow, found_in, removed, added_at, revision, state, failures, consecutive,
       next_check_at)
     VALUES (@id, @url, @name, @agency, @tags, @every_minutes, @max_object_mb, @ignore_robots, @headers,
       @noise_rules, @rules_digest, @paused, @allow_private,
       @every, @time_zone, @active_hours, @follow, @found_in, 0, @added_at, @revision, 'new', 0, 0, @next_check_at)`,
  ).run({ ...settingsForSql(source), ...identityForSql(source) });
  const key = Number(lastInsertRowid);
  indexSource(database, key, source);
  return key;
}

function identityForSql(source: Pick<SourceRow, 'id' | 'url' | 'added_at' | 'revision' | 'next_check_at'>) {
  const { id, url, added_at, revision, next_check_at } = source;
  return { id, url, added_at, revision, next_check_at };
}

/** Updates the owner's settings of a source; its state is unchanged. */
export function updateSource(
  database: WriteDatabase,
  source: SourceSettings &
    Pick<SourceRow, 'key' | 'url' | 'added_at' | 'revision' | 'next_check_at' | 'removed'>,
): void {
  deleteTags(database, source.key);
  statement(
    database,
    `UPDATE sources SET name = @name, agency = @agency, tags = @tags, every_minutes = @every_minutes,
       max_object_mb = @max_object_mb, ignore_robots = @ignore_robots, headers = @headers, noise_rules = @noise_rules,
       rules_digest = @rules_digest, paused = @paused, allow_private = @allow_private, every = @every,
       time_zone = @time_zone, active_hours = @active_hours, follow = @follow, found_in = @found_in, removed = @removed,
       added_at = @added_at, revision = @revision, next_check_at = @next_check_at
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

/** Updates the name of a source. Its other settings are unchanged, so only one index is written. */
export function updateSourceName(
  database: WriteDatabase,
  source: Pick<SourceRow, 'key' | 'url' | 'name' | 'agency' | 'tags' | 'revision'>,
): void {
  statement(database, 'UPDATE sources SET name = @name, revision = @revision WHERE key = @key').run({
    key: source.key,
    name: source.name,
    revision: source.revision,
  });
  indexText(database, source.key, source);
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
    every: source.every,
    time_zone: source.time_zone,
    active_hours: source.active_hours && JSON.stringify(source.active_hours),
    follow: source.follow && JSON.stringify(source.follow),
    found_in: source.found_in,
    paused: Number(source.paused),
    allow_private: source.allow_private === null ? null : Number(source.allow_private),
  };
}

/** Updates the state of a source after a check. */
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

/** Records that the node itself failed to check a source. Does not read the row, which may be damaged. Keeps its state. */
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

/** The SQL condition for active sources: watched and not paused. */
export const WATCHED = 'removed = 0 AND paused = 0';

/** A source that will be checked. Its full row is read when it is its turn. */
export type SourceToCheck = Pick<SourceRow, 'key' | 'url'>;

/** Returns the active sources, in the order in which they were added. */
export function activeSources(database: ReadDatabase): SourceToCheck[] {
  return statement<SourceToCheck>(
    database,
    `SELECT key, url FROM sources WHERE ${WATCHED} ORDER BY key`,
  ).all();
}

/** Returns the failing sources, longest failing first. */
export function failingSources(database: ReadDatabase): SourceRow[] {
  return statement<StoredSource>(
    database,
    'SELECT * FROM sources WHERE removed = 0 AND failing_since IS NOT NULL ORDER BY failing_since, key',
  )
    .all()
    .map(parseSourceRowForDisplay);
}

export function countSourcesIn(database: ReadDatabase, state: SourceState): number {
  return (
    statement<{ count: number }>(
      database,
      'SELECT count(*) AS count FROM sources WHERE removed = 0 AND state = ?',
    ).get(state)?.count ?? 0
  );
}

/** Returns the number of active sources: watched and not paused. */
export function countWatchedSources(database: ReadDatabase): number {
  return (
    statement<{ count: number }>(database, `SELECT count(*) AS count FROM sources WHERE ${WATCHED}`).get()
      ?.count ?? 0
  );
}

/** Returns the smallest number of bytes that a source's last check could not store, or undefined. */
export function leastRefusedBytes(database: ReadDatabase): number | undefined {
  return (
    statement<{ bytes: number | null }>(
      database,
      'SELECT min(refused_bytes) AS bytes FROM sources WHERE removed = 0 AND refused_bytes IS NOT NULL',
    ).get()?.bytes ?? undefined
  );
}

/** The SQL value by which each order sorts. Sources without one come last in both directions. */
const ORDERS: Record<SourceOrder, string> = {
  added: 'key',
  name: "(CASE WHEN name = '' THEN url ELSE name END) COLLATE NOCASE",
  state: `(CASE WHEN failing_since IS NOT NULL THEN 0
    ELSE CASE state WHEN 'gone' THEN 1 WHEN 'unavailable' THEN 2 WHEN 'new' THEN 3 ELSE 4 END END)`,
  agency: "nullif(agency, '') COLLATE NOCASE",
  checked: 'last_checked_at',
  next: '(CASE WHEN paused THEN NULL ELSE next_check_at END)',
  changed: `(SELECT observed_at FROM events INDEXED BY events_by_source
    WHERE source_key = sources.key AND observer = 'self' ORDER BY observed_at DESC, id DESC LIMIT 1)`,
};

/** Returns a page of the watched sources, and the total number of matches. */
export function listSourceRows(
  database: ReadDatabase,
  filter: SourceFilter,
  { limit, offset, sort }: { limit: number; offset: number; sort: SourcesQuery['sort'] },
): { rows: SourceRow[]; total: number } {
  const where = ['removed = 0', ...sourceConditions(filter)];
  if (filter.state !== null) where.push('state = @state');
  if (filter.paused !== null) where.push(`paused = ${filter.paused ? 1 : 0}`);
  // SQLite has no boolean parameters.
  const { paused: _paused, ...named } = filter;
  const from = `FROM sources WHERE ${where.join(' AND ')}`;
  const value = ORDERS[sort.replace(/^-/, '') as SourceOrder];
  const direction = sort.startsWith('-') ? 'DESC' : 'ASC';
  const rows = statement<StoredSource>(
    database,
    `SELECT * ${from} ORDER BY ${value} ${direction} NULLS LAST, key DESC LIMIT @limit OFFSET @offset`,
  )
    .all({ ...named, limit, offset })
    .map(parseSourceRowForDisplay);
  const total = statement<{ count: number }>(database, `SELECT count(*) AS count ${from}`).get(named)?.count;
  return { rows, total: total ?? 0 };
}

/** Notes that a source gets the title of its page as its name. */
export function markUnnamed(database: WriteDatabase, key: number): void {
  statement(database, 'INSERT INTO unnamed_sources (source_key) VALUES (?) ON CONFLICT DO NOTHING').run(key);
}

/** Returns whether a source gets the title of its page as its name, and forgets it, because that happens once. */
export function clearUnnamed(database: WriteDatabase, key: number): boolean {
  return statement(database, 'DELETE FROM unnamed_sources WHERE source_key = ?').run(key).changes > 0;
}
