import { instantOf } from '../../../shared/clock.ts';
import { ID_DIGITS } from '../../../shared/digest.ts';
import type { EntryType } from '../../../shared/ledger.ts';
import type { Slice } from '../../../shared/list.ts';
import { Problem } from '../../../shared/problems.ts';
import {
  type NewSource,
  newSourceSchema,
  RECENT_CHECKS,
  type Retrieval,
  type Source,
  type SourceChange,
  type SourcesQuery,
  type WatchedSource,
} from '../../../shared/source.ts';
import { appendEntry, nextSeq } from '../../ledger/appendEntry.ts';
import { fingerprintOf, sha256Of } from '../../ledger/entry.ts';
import { countDueBetween } from '../../store/sqlite/collection/dueTimes.ts';
import { lastEventAt } from '../../store/sqlite/collection/events.ts';
import { recentChecks, retrievalsOfSource } from '../../store/sqlite/collection/retrievals.ts';
import { insertSourceRevision } from '../../store/sqlite/collection/sourceRevisions.ts';
import {
  insertSource,
  listSourceRows,
  type SourceRow,
  type SourceSettings,
  sourceById,
  sourceKeyOf,
  updateSource,
} from '../../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { matchExpression } from '../../store/sqlite/engine/search.ts';
import type { Store } from '../../store/store.ts';
import { isPrivateAddress } from '../fetch/addresses.ts';
import { requireValidRules } from '../noise/requireValidRules.ts';
import { randomFraction } from '../schedule/randomFraction.ts';
import { allowsPrivateAddress } from './privateSources.ts';

/** A new source is first checked on schedule after this, unless the owner asks for it before. */
export const FIRST_CHECK_DELAY_MS = 60_000;
/** First checks of sources that are added together are this far apart on average. */
export const FIRST_CHECK_SPACING_MS = 500;
/** One that is added by itself is put off by no more than this. */
const CROWDED_MS = 300_000;

/**
 * The one form of an address: as the WHATWG URL standard writes it (scheme and host in lower case, host names in
 * ASCII, default port and dot segments gone, percent signs where they are needed), without the fragment, which is never
 * sent. The query stays as it is, its order too, because it means what the server makes of it.
 */
export function normalizeUrl(text: string): string {
  const url = new URL(text);
  url.hash = '';
  return url.href;
}

export function sourceIdOf(normalizedUrl: string): string {
  return `so_${sha256Of(normalizedUrl).slice(0, ID_DIGITS)}`;
}

/**
 * Watches an address. One that was watched before and removed is watched again: its history goes on.
 *
 * @param allowPrivate whether it may be at a private address; null leaves that to the address itself.
 * @throws Problem `source_exists`, `id_taken`, `invalid_field`.
 */
export async function addSource(
  store: Store,
  source: NewSource,
  allowPrivate: boolean | null = null,
): Promise<WatchedSource> {
  await requireValidRules(source.noise_rules, '/noise_rules');
  return store.write((database) => {
    const next_check_at = firstCheck(database, store);
    return watchedSource(database, watchSource(database, store, source, next_check_at, allowPrivate));
  });
}

/** When a source is first checked that was added by itself: in a minute, or later where many others are due then. */
function firstCheck(database: WriteDatabase, store: Pick<Store, 'clock' | 'randomHex'>): string {
  const soonest = store.clock.now() + FIRST_CHECK_DELAY_MS;
  const others = countDueBetween(database, instantOf(soonest - CROWDED_MS), instantOf(soonest + CROWDED_MS));
  const spread = Math.min(CROWDED_MS, others * FIRST_CHECK_SPACING_MS);
  return instantOf(soonest + Math.floor(spread * randomFraction(store)));
}

/** The same within a change; what it throws is thrown before anything is written. */
export function watchSource(
  database: WriteDatabase,
  store: Pick<Store, 'instant'>,
  { url: asked, ...said }: NewSource,
  next_check_at: string,
  allow_private: boolean | null = null,
): SourceRow {
  const url = normalizeUrl(asked);
  const id = sourceIdOf(url);
  const settings: SourceSettings = { ...said, paused: false, allow_private };
  const known = sourceById(database, id);
  if (known && known.url !== url)
    throw new Problem('id_taken', `Another address has the id ${id} already; this one cannot be watched.`);
  if (known && !known.removed) {
    throw new Problem('source_exists', 'This address is watched already.', { members: { source: id } });
  }
  const added_at = store.instant();
  const row = { ...settings, id, url, added_at, next_check_at, removed: false };
  const revision = nextSeq(database);
  let key = known?.key;
  if (key === undefined) key = insertSource(database, { ...row, revision });
  else updateSource(database, { ...row, key, revision });
  recordRevision(database, 'source.added', { ...row, key }, added_at);
  return requireRow(database, id);
}

/** What is said of a source that nobody asked to watch: the defaults. */
const { url: _example, ...UNSAID } = newSourceSchema.parse({ url: 'http://localhost/' });

/**
 * The source of an address, inside the caller's transaction, watched, removed or paused. Where there is none yet, a
 * paused one is added: its history can be read, and the owner may begin to watch it.
 *
 * @param at when that is. @returns also whether it was added.
 */
export function findOrAddPausedSource(
  database: WriteDatabase,
  id: string,
  url: string,
  at: string,
): Pick<SourceRow, 'key' | 'id' | 'url'> & { isNew: boolean } {
  const key = sourceKeyOf(database, id);
  if (key !== undefined) return { key, id, url, isNew: false };
  const row = {
    ...UNSAID,
    id,
    url,
    paused: true,
    allow_private: null,
    added_at: at,
    next_check_at: at,
    removed: false,
  };
  const added = insertSource(database, { ...row, revision: nextSeq(database) });
  recordRevision(database, 'source.added', { ...row, key: added }, at);
  return { key: added, id, url, isNew: true };
}

/**
 * Changes what the owner says of a source; what is not named stays. A change that changes nothing records nothing.
 *
 * @throws Problem `not_found` where no such source is watched; `invalid_field`.
 */
export async function changeSource(store: Store, id: string, change: SourceChange): Promise<WatchedSource> {
  await requireValidRules(change.noise_rules ?? [], '/noise_rules');
  return store.write((database) => {
    const source = requireWatched(database, id);
    const changed = { ...source, ...change };
    if (fingerprintOf(settingsOf(changed)) !== fingerprintOf(settingsOf(source)))
      writeRevision(database, changed, store.instant());
    return watchedSource(database, requireRow(database, id));
  });
}

/** Stops watching; the history stays. @throws Problem `not_found` where no such source is watched. */
export function removeSource(store: Store, id: string): Promise<void> {
  return store.write((database) => {
    writeRevision(database, { ...requireWatched(database, id), removed: true }, store.instant());
  });
}

function writeRevision(database: WriteDatabase, source: SourceRow, at: string): void {
  updateSource(database, { ...source, revision: nextSeq(database) });
  recordRevision(database, 'source.changed', source, at);
}

function recordRevision(
  database: WriteDatabase,
  type: EntryType,
  source: RecordedSource & { key: number },
  at: string,
): void {
  const record = recordedSource(source);
  const entry = appendEntry(database, { type, subject: source.id, digest: fingerprintOf(record), at });
  insertSourceRevision(database, { ledger_entry: entry.seq, source_key: source.key, record });
}

type RecordedSource = SourceSettings & Pick<SourceRow, 'id' | 'url' | 'added_at' | 'removed'>;

/**
 * What the ledger records of a source. Of the owner's headers it has the names alone: their values may be secrets, and
 * what the ledger records is published; nor does it tell what lies in the owner's own network.
 */
export function recordedSource(source: RecordedSource) {
  const { headers, noise_rules, allow_private: _private, ...settings } = settingsOf(source);
  return {
    id: source.id,
    url: source.url,
    ...settings,
    header_names: Object.keys(headers).sort(),
    // Left out where there are none: so it was recorded before there were rules.
    ...(noise_rules.length > 0 && { noise_rules }),
    added_at: source.added_at,
    removed: source.removed,
  };
}

function settingsOf(source: SourceSettings): SourceSettings {
  const { name, agency, tags, every_minutes, max_object_mb, ignore_robots, headers, noise_rules } = source;
  const { paused, allow_private } = source;
  return {
    name,
    agency,
    tags,
    every_minutes,
    max_object_mb,
    ignore_robots,
    headers,
    noise_rules,
    paused,
    allow_private,
  };
}

/** The watched sources as the world sees them, newest first. */
export function listSources({ read }: Pick<Store, 'read'>, query: SourcesQuery): Slice<Source> {
  const { rows, total } = listRows({ read }, query);
  return { items: rows.map(publicSource), total };
}

/** The watched sources as the owner sees them, newest first. */
export function listWatchedSources({ read }: Pick<Store, 'read'>, query: SourcesQuery): Slice<WatchedSource> {
  const { rows, total } = listRows({ read }, query);
  return { items: rows.map((row) => watchedSource(read, row)), total };
}

function listRows({ read }: Pick<Store, 'read'>, { q, agency, tag, state, limit, offset }: SourcesQuery) {
  const filter = {
    match: (q && matchExpression(q)) || null,
    agency: agency ?? null,
    tag: tag ?? null,
    state: state ?? null,
  };
  return read.transaction(() => listSourceRows(read, filter, { limit, offset })).deferred();
}

/** A source as the world sees it, also one that was removed. @throws Problem `not_found`. */
export function readSource({ read }: Pick<Store, 'read'>, id: string): Source {
  return publicSource(requireRow(read, id));
}

/** A source as the owner sees it, also one that was removed. @throws Problem `not_found`. */
export function readWatchedSource({ read }: Pick<Store, 'read'>, id: string): WatchedSource {
  return read.transaction(() => watchedSource(read, requireRow(read, id))).deferred();
}

/** Every attempt on a source, newest first. @throws Problem `not_found`. */
export function listRetrievals(
  { read }: Pick<Store, 'read'>,
  id: string,
  page: { limit: number; offset: number },
): Slice<Retrieval> {
  return read.transaction(() => retrievalsOfSource(read, requireRow(read, id).key, page)).deferred();
}

function requireRow(database: Store['read'], id: string): SourceRow {
  const source = sourceById(database, id);
  if (!source) throw new Problem('not_found', 'There is no such source.');
  return source;
}

function requireWatched(database: Store['read'], id: string): SourceRow {
  const source = requireRow(database, id);
  if (source.removed) throw new Problem('not_found', 'This source is no longer watched.');
  return source;
}

function publicSource(row: SourceRow): Source {
  return {
    id: row.id,
    url: row.url,
    name: row.name,
    agency: row.agency,
    tags: row.tags,
    last_checked_at: row.last_checked_at,
    state: row.state,
    every_minutes: row.every_minutes,
    paused: row.paused,
    added_at: row.added_at,
    last_sha256: row.last_sha256,
    last_event_type: row.last_event_type,
  };
}

function watchedSource(database: Store['read'], row: SourceRow): WatchedSource {
  return {
    ...publicSource(row),
    last_event_at: lastEventAt(database, row.key) ?? null,
    recent_checks: recentChecks(database, row.key, RECENT_CHECKS),
    max_object_mb: row.max_object_mb,
    ignore_robots: row.ignore_robots,
    headers: row.headers,
    noise_rules: row.noise_rules,
    allow_private: allowsPrivateAddress(row, isPrivateAddress),
    next_check_at: row.paused || row.removed ? null : row.next_check_at,
    last_status: row.last_status,
    last_error: row.last_error,
    consecutive_failures: row.consecutive,
    failing_since: row.failing_since,
    removed: row.removed,
  };
}
