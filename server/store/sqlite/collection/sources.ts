import type { EventType } from '../../../../shared/collection/event.ts';
import type { Follow } from '../../../../shared/collection/follow.ts';
import type { NoiseRule, Watch } from '../../../../shared/collection/noise.ts';
import type { RetrievalError } from '../../../../shared/collection/retrieval.ts';
import type { ActiveHours, Schedule } from '../../../../shared/collection/schedule.ts';
import type {
  CaptureMode,
  PageError,
  SourceOrder,
  SourceState,
  SourcesQuery,
} from '../../../../shared/collection/source.ts';
import type { Slice } from '../../../../shared/values/list.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  change,
  countRows,
  inserts,
  type Place,
  page,
  selectAll,
  selectEach,
  selectOne,
  selectValue,
  updates,
} from '../engine/queries.ts';
import { forgetExpiry } from './profiles.ts';
import { replaceValidators } from './retrievals.ts';
import { scopeDigest } from './timeline/eventNoise.ts';

/** Returns a source by key. @throws SyntaxError if the row is damaged */
export const sourceByKey = selectOne<StoredSource, [key: number], SourceRow>(
  'SELECT * FROM sources WHERE key = ?',
  parseSourceRow,
);

/** Returns a source by id, whether watched or removed. */
export const sourceById = selectOne<StoredSource, [id: string], SourceRow>(
  'SELECT * FROM sources WHERE id = ?',
  parseSourceRowForDisplay,
);

/** Returns the key of a source, whether watched or removed. */
export const sourceKeyOf = selectValue<number, [id: string]>('SELECT key FROM sources WHERE id = ?');

/** Returns the id of the source in which a source was found, or null if it was not; undefined if there is no such source. */
export const whereFound = selectOne<Pick<SourceRow, 'found_in'>, [id: string], string | null>(
  'SELECT found_in FROM sources WHERE id = ?',
  ({ found_in }) => found_in,
);

export function insertSource(
  database: WriteDatabase,
  source: SourceSettings & Pick<SourceRow, 'id' | 'url' | 'added_at' | 'revision' | 'next_check_at'>,
): number {
  const initially = { removed: 0, state: 'new', failures: 0, consecutive: 0 };
  const key = insertRow(database, { ...source, ...settingsForSql(source), ...initially });
  indexSource(database, key, source);
  return key;
}

/** The columns of the owner's settings. */
const SETTINGS = `name, agency, tags, every_minutes, max_object_mb, ignore_robots, headers, noise_rules, watch, rules_digest,
  paused, allow_private, every, time_zone, active_hours, follow, found_in, capture, picture_events, keep_days, needs_login, profile`;

const insertRow = inserts(
  'sources',
  `id, url, ${SETTINGS}, added_at, revision, next_check_at, removed, state, failures, consecutive`,
);

/** Updates the owner's settings of a source; its state is unchanged. */
export function updateSource(
  database: WriteDatabase,
  source: SourceSettings &
    Pick<SourceRow, 'key' | 'url' | 'added_at' | 'revision' | 'next_check_at' | 'removed'>,
): void {
  deleteTags(database, source.key);
  const profile = profileOf(database, source.key) ?? null;
  const before = watchOf(database, source.key) ?? null;
  const row = { ...source, ...settingsForSql(source), removed: Number(source.removed) };
  updateRow(database, row);
  if (source.capture === 'object') updatePageError(database, source.key, null);
  forgetSearch(database, source.key, before);
  if (profile !== source.profile) forgetLogin(database, source.key);
  if (profile !== null) forgetExpiry(database, { profile });
  indexSource(database, source.key, source);
}

const updateRow = updates('sources', {
  key: 'key',
  columns: `${SETTINGS}, removed, added_at, revision, next_check_at`,
});

const profileOf = selectValue<string | null, [key: number]>('SELECT profile FROM sources WHERE key = ?');

const watchOf = selectValue<string | null, [key: number]>('SELECT watch FROM sources WHERE key = ?');

/** If another part is watched than before, it was not looked for yet. */
const forgetSearch = change<[key: number, before: string | null]>(
  'UPDATE sources SET watch_sought = NULL, watch_lost_at = NULL WHERE key = ? AND watch IS NOT ?',
);

/** Returns the sources whose watched part is not in their newest version, longest first. */
export const sourcesWithLostPart = selectAll<StoredSource, [], SourceRow>(
  `SELECT * FROM sources INDEXED BY sources_with_watch
   WHERE watch IS NOT NULL AND removed = 0 AND watch_lost_at IS NOT NULL ORDER BY watch_lost_at, key`,
  parseSourceRowForDisplay,
);

/** Another login may get something else: neither what was noticed of the old one counts, nor what it was told is unchanged. */
function forgetLogin(database: WriteDatabase, key: number): void {
  forgetRefusal(database, key);
  replaceValidators(database, key, undefined);
}

const forgetRefusal = change<[key: number]>('UPDATE sources SET login_expired_at = NULL WHERE key = ?');

/** Updates the name of a source. Its other settings are unchanged, so only one index is written. */
export function updateSourceName(
  database: WriteDatabase,
  source: Pick<SourceRow, 'key' | 'url' | 'name' | 'agency' | 'tags' | 'revision'>,
): void {
  updateName(database, source);
  indexText(database, source.key, source);
}

const updateName = updates<Pick<SourceRow, 'key' | 'name' | 'revision'>>('sources', {
  key: 'key',
  columns: 'name, revision',
});

/** Returns the settings that SQLite stores in another form, and the digest of the rules. */
function settingsForSql(source: SourceSettings) {
  return {
    tags: JSON.stringify(source.tags),
    ignore_robots: Number(source.ignore_robots),
    headers: JSON.stringify(source.headers),
    noise_rules: source.noise_rules.length > 0 ? JSON.stringify(source.noise_rules) : null,
    watch: source.watch && JSON.stringify(source.watch),
    rules_digest: scopeDigest({ watch: source.watch, rules: source.noise_rules }),
    active_hours: source.active_hours && JSON.stringify(source.active_hours),
    follow: source.follow && JSON.stringify(source.follow),
    needs_login: Number(source.needs_login),
    paused: Number(source.paused),
    allow_private: source.allow_private === null ? null : Number(source.allow_private),
  };
}

/** Updates the state of a source after a check. */
export function updateCheckState(
  database: WriteDatabase,
  key: number,
  standing: Standing &
    Pick<
      SourceRow,
      'last_checked_at' | 'last_status' | 'last_error' | 'last_sha256' | 'last_event_type' | 'refused_bytes'
    >,
): void {
  updateStanding(database, { ...standing, key });
}

const updateStanding = updates('sources', {
  key: 'key',
  columns: `state, failures, missing_since, consecutive, failing_since, last_checked_at, last_status, last_error,
    last_sha256, last_event_type, refused_bytes`,
});

/** Records why the page of a source could not be drawn at the last check; null if it was. */
export function updatePageError(database: WriteDatabase, key: number, page_error: PageError | null): void {
  setPageError(database, { key, page_error });
}

const setPageError = updates<{ key: number; page_error: PageError | null }>('sources', {
  key: 'key',
  columns: 'page_error',
});

/** Records that the node itself failed to check a source. Does not read the row, which may be damaged. Keeps its state. */
export const recordInternalFailure = change<
  [fault: { key: number; error: RetrievalError; at: string; next_check_at: string }]
>(`
  UPDATE sources SET consecutive = consecutive + 1, failing_since = coalesce(failing_since, $at),
    last_checked_at = $at, last_status = NULL, last_error = $error, next_check_at = $next_check_at
  WHERE key = $key`);

/** The SQL condition for active sources: watched and not paused. */
export const WATCHED = 'removed = 0 AND paused = 0';

/** A source that will be checked. Its full row is read when it is its turn. */
export type SourceToCheck = Pick<SourceRow, 'key' | 'url'>;

/** Returns the active sources, in the order in which they were added. */
export const activeSources = selectAll<SourceToCheck>(
  `SELECT key, url FROM sources WHERE ${WATCHED} ORDER BY key`,
);

/** Returns the failing sources, longest failing first. */
export const failingSources = selectAll<StoredSource, [], SourceRow>(
  'SELECT * FROM sources WHERE removed = 0 AND failing_since IS NOT NULL ORDER BY failing_since, key',
  parseSourceRowForDisplay,
);

/** Returns the sources for which the site no longer accepts a profile, longest first. */
export const sourcesWithExpiredLogin = selectAll<StoredSource, [profile: string], SourceRow>(
  `SELECT * FROM sources WHERE profile = ? AND removed = 0 AND login_expired_at IS NOT NULL
   ORDER BY login_expired_at, key`,
  parseSourceRowForDisplay,
);

export const countSourcesIn = countRows<[state: SourceState]>('sources WHERE removed = 0 AND state = ?');

/** Returns the number of active sources: watched and not paused. */
export const countWatchedSources = countRows(`sources WHERE ${WATCHED}`);

/** Returns the smallest number of bytes that a source's last check could not store, or undefined. */
export const leastRefusedBytes = selectValue<number>(
  'SELECT min(refused_bytes) AS bytes FROM sources WHERE removed = 0 AND refused_bytes IS NOT NULL',
);

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
    WHERE source_key = sources.key AND observer IN ('self', 'browser')
    ORDER BY observed_at DESC, id DESC LIMIT 1)`,
};

/** Returns a page of the watched sources, and the total number of matches. */
export function listSourceRows(
  database: ReadDatabase,
  filter: SourceFilter,
  { sort, ...place }: Place & { sort: SourcesQuery['sort'] },
): Slice<SourceRow> {
  const conditions = ['removed = 0', ...sourceConditions(filter)];
  if (filter.state !== null) conditions.push('state = $state');
  if (filter.paused !== null) conditions.push(`paused = ${filter.paused ? 1 : 0}`);
  // SQLite has no boolean parameters.
  const { paused: _paused, ...named } = filter;
  const value = ORDERS[sort.replace(/^-/, '') as SourceOrder];
  const direction = sort.startsWith('-') ? 'DESC' : 'ASC';
  const listing = {
    columns: '*',
    from: `sources WHERE ${conditions.join(' AND ')}`,
    order: `${value} ${direction} NULLS LAST, key DESC`,
    values: [named],
  };
  const { items, total } = page<StoredSource>(database, listing, place);
  return { items: items.map(parseSourceRowForDisplay), total };
}

/** Notes that a source gets the title of its page as its name. */
export const markUnnamed = change<[key: number]>(
  'INSERT INTO unnamed_sources (source_key) VALUES (?) ON CONFLICT DO NOTHING',
);

/** Returns whether a source gets the title of its page as its name, and forgets it, because that happens once. */
export function clearUnnamed(database: WriteDatabase, key: number): boolean {
  return deleteUnnamed(database, key) > 0;
}

const deleteUnnamed = change<[key: number]>('DELETE FROM unnamed_sources WHERE source_key = ?');

/** The owner's settings of a source. */
export interface SourceSettings extends Schedule {
  name: string;
  agency: string;
  tags: string[];
  max_object_mb: number | null;
  ignore_robots: boolean;
  headers: Record<string, string>;
  /** Changes that are noise. */
  noise_rules: NoiseRule[];
  /** The part that is watched; null for everything. */
  watch: Watch | null;
  paused: boolean;
  /** Which of its links become sources; null if none. */
  follow: Follow | null;
  /** The id of the source in which its URL was found. */
  found_in: string | null;
  capture: CaptureMode;
  /** The share of changed pixels from which a change of the picture alone is an event; null for none. */
  picture_events: number | null;
  /** After how many days the bytes of a version are given up; null for never. */
  keep_days: number | null;
  /** Whether it is watched with a login. Without a profile, it is not fetched then. */
  needs_login: boolean;
  /** The profile with which it is watched; null if none, or it is gone. */
  profile: string | null;
  /** Whether connections to private addresses are allowed; null if undecided, then its own URL decides. */
  allow_private: boolean | null;
}

/** The state of a source between two checks. */
export interface Standing {
  state: SourceState;
  /** The number of consecutive failures other than 404 and 410. */
  failures: number;
  /** The time of the first of the consecutive 404 and 410 responses. */
  missing_since: string | null;
  /** The number of consecutive failures of either kind, and the time of the first. */
  consecutive: number;
  failing_since: string | null;
}

export interface SourceRow extends SourceSettings, Standing {
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
  /** Since when the site no longer accepts the profile for this source. */
  login_expired_at: string | null;
  /** Why the page could not be drawn at the last check. */
  page_error: PageError | null;
  /** Since when the watched part is no longer found in the newest version. */
  watch_lost_at: string | null;
  /** The digest of its watched part and noise rules; null if there are none. */
  rules_digest: string | null;
  /** The number of bytes that the last check could not store for lack of space, if so. */
  refused_bytes: number | null;
}

/** The columns that SQLite stores in another form. */
interface StoredColumns {
  tags: string;
  headers: string;
  noise_rules: string | null;
  watch: string | null;
  active_hours: string | null;
  follow: string | null;
  ignore_robots: number;
  needs_login: number;
  paused: number;
  removed: number;
  allow_private: number | null;
}

/** A source as stored in SQLite. */
type StoredSource = Omit<SourceRow, keyof StoredColumns> & StoredColumns;

/** Parses the row of a source. @throws SyntaxError if the row is damaged */
function parseSourceRow(row: StoredSource): SourceRow {
  return parseWith(row, (text) => JSON.parse(text));
}

/** Parses the row of a source for display. Damaged columns are empty, so that the rest can be shown. */
function parseSourceRowForDisplay(row: StoredSource): SourceRow {
  return parseWith(row, (text, empty) => {
    try {
      return JSON.parse(text);
    } catch (error) {
      if (error instanceof SyntaxError) return empty;
      throw error;
    }
  });
}

function parseWith(row: StoredSource, parse: (text: string, empty: unknown) => unknown): SourceRow {
  return {
    ...row,
    tags: parse(row.tags, []) as string[],
    headers: parse(row.headers, {}) as Record<string, string>,
    noise_rules: row.noise_rules === null ? [] : (parse(row.noise_rules, []) as NoiseRule[]),
    watch: row.watch === null ? null : (parse(row.watch, null) as Watch | null),
    active_hours: row.active_hours === null ? null : (parse(row.active_hours, null) as ActiveHours | null),
    follow: row.follow === null ? null : (parse(row.follow, null) as Follow | null),
    ignore_robots: row.ignore_robots === 1,
    needs_login: row.needs_login === 1,
    paused: row.paused === 1,
    removed: row.removed === 1,
    allow_private: row.allow_private === null ? null : row.allow_private === 1,
  };
}

/** The filters of a list of watched sources; null matches all. */
export interface SourceFilter {
  match: string | null;
  agency: string | null;
  tag: string | null;
  state: SourceState | null;
  paused: boolean | null;
}

/** Returns the SQL conditions on `sources` for a filter's text, agency and tag, with named parameters. */
export function sourceConditions(filter: Omit<SourceFilter, 'state' | 'paused'>): string[] {
  const where: string[] = [];
  if (filter.match !== null)
    where.push('key IN (SELECT rowid FROM source_text WHERE source_text MATCH $match)');
  if (filter.agency !== null) where.push('agency = $agency');
  if (filter.tag !== null) where.push('key IN (SELECT source_key FROM source_tags WHERE tag = $tag)');
  return where;
}

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
  for (const tag of new Set(source.tags)) insertTag(database, { tag, source_key: key });
}

const insertTag = inserts<{ tag: string; source_key: number }>('source_tags', 'tag, source_key');

/** Indexes the texts of a source in place of those before, for the parameter `q`. */
function indexText(
  database: WriteDatabase,
  key: number,
  { url, name, agency, tags }: Pick<SourceRow, 'url' | 'name' | 'agency' | 'tags'>,
): void {
  putText(database, { key, url: `${url} ${readableUrl(url)}`, name, agency, tags: tags.join(' \n') });
}

const putText = change<[text: { key: number; url: string; name: string; agency: string; tags: string }]>(`
  INSERT OR REPLACE INTO source_text (rowid, url, name, agency, tags) VALUES ($key, $url, $name, $agency, $tags)`);

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
function deleteTags(database: WriteDatabase, key: number): void {
  const row = storedTags(database, key);
  if (row?.tags === '[]') return;
  if (row?.isReadable) deleteOwnTags(database, { key });
  else deleteAnyTags(database, { key });
}

const storedTags = selectOne<{ tags: string; isReadable: number }, [key: number]>(
  'SELECT tags, json_valid(tags) AS isReadable FROM sources WHERE key = ?',
);
const deleteOwnTags = change<[{ key: number }]>(`
  DELETE FROM source_tags WHERE source_key = $key
  AND tag IN (SELECT value FROM json_each((SELECT tags FROM sources WHERE key = $key)))`);
const deleteAnyTags = change<[{ key: number }]>('DELETE FROM source_tags WHERE source_key = $key');

/** Stores what a ledger entry recorded of a source, as JSON. */
export function insertSourceRevision(
  database: WriteDatabase,
  revision: { ledger_entry: number; source_key: number; record: unknown },
): void {
  insertRevision(database, { ...revision, record: JSON.stringify(revision.record) });
}

const insertRevision = inserts<{ ledger_entry: number; source_key: number; record: string }>(
  'source_revisions',
  'ledger_entry, source_key, record',
);

/** Iterates over all revisions in ledger order; `newest` marks the current revision of its source. */
export function* iterateSourceRevisions(
  database: ReadDatabase,
): Generator<{ ledger_entry: number; source_key: number; record: unknown; newest: boolean }> {
  for (const row of storedRevisions(database))
    yield { ...row, record: JSON.parse(row.record) as unknown, newest: row.newest === 1 };
}

const storedRevisions = selectEach<{
  ledger_entry: number;
  source_key: number;
  record: string;
  newest: number;
}>(`
  SELECT r.ledger_entry, r.source_key, r.record, s.revision = r.ledger_entry AS newest
  FROM source_revisions r JOIN sources s ON s.key = r.source_key ORDER BY r.ledger_entry`);
