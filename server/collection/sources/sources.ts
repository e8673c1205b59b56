import { isDeepStrictEqual } from 'node:util';
import { asksForText } from '../../../shared/alerts/alert.ts';
import type { Follow, FollowRun } from '../../../shared/collection/follow.ts';
import { watchedRegion } from '../../../shared/collection/noise.ts';
import type { Retrieval } from '../../../shared/collection/retrieval.ts';
import type { Schedule } from '../../../shared/collection/schedule.ts';
import {
  type NewSource,
  newSourceSchema,
  RECENT_CHECKS,
  type Source,
  type SourceChange,
  type SourcesQuery,
  type WatchedSource,
} from '../../../shared/collection/source.ts';
import { Problem } from '../../../shared/problems.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { ID_DIGITS } from '../../../shared/values/digest.ts';
import type { Slice } from '../../../shared/values/list.ts';
import { nextSeq } from '../../ledger/appendEntry.ts';
import { sha256Of } from '../../ledger/entry.ts';
import { countDueBetween } from '../../store/sqlite/collection/dueTimes.ts';
import {
  countWaiting,
  type FollowRunRow,
  followRun,
  forgetFollowRunsWith,
  forgetWaitingLinks,
  isForgotten,
  unlinkedAt,
} from '../../store/sqlite/collection/foundLinks.ts';
import { newestPageId } from '../../store/sqlite/collection/pages.ts';
import { profileById, profileState } from '../../store/sqlite/collection/profiles.ts';
import { hasRetrieval, recentChecks, retrievalsOfSource } from '../../store/sqlite/collection/retrievals.ts';
import {
  insertSource,
  listSourceRows,
  type SourceRow,
  type SourceSettings,
  sourceById,
  sourceKeyOf,
  updateSource,
} from '../../store/sqlite/collection/sources.ts';
import {
  labelOfNewestVersion,
  lastCapturedEvent,
  lastOwnEvent,
} from '../../store/sqlite/collection/timeline/events.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { onSnapshot } from '../../store/sqlite/engine/queries.ts';
import { matchExpression } from '../../store/sqlite/engine/search.ts';
import { allRules } from '../../store/sqlite/node/alerts.ts';
import { randomFraction, type Store } from '../../store/store.ts';
import { isPrivateAddress } from '../fetch/connect.ts';
import { requireValidScope } from '../noise/noise.ts';
import { isOfSite } from '../profiles/cookies.ts';
import { hasSchedule, nextCheckTime, requireValidSchedule, waitsForHours } from '../schedule/nextCheck.ts';
import { allowsPrivateAddress } from './privateSources.ts';
import { hasSameSettings, recordRevision, writeRevision } from './sourceRevisions.ts';

/** The delay before the first scheduled check of a new source. */
export const FIRST_CHECK_DELAY_MS = 60_000;
/** The average interval between the first checks of sources that are added together. */
export const FIRST_CHECK_SPACING_MS = 500;
/** The longest further delay of the first check of a source that is added by itself. */
const MAX_SPREAD_MS = 300_000;

/**
 * Normalizes a URL as the WHATWG URL standard serializes it: scheme and host in lower case, host names in ASCII, no
 * default port, no dot segments, percent-encoding where it is needed. Removes the fragment, which is never sent. The
 * query keeps its order, because only the server can interpret it.
 */
export function normalizeUrl(text: string): string {
  const url = new URL(text);
  url.hash = '';
  return url.href;
}

/** Returns the id of the source with this normalized URL. */
export function sourceIdOf(normalizedUrl: string): string {
  return `so_${sha256Of(normalizedUrl).slice(0, ID_DIGITS)}`;
}

/**
 * Adds a source. A source that was removed before is watched again and keeps its history.
 *
 * @param allowPrivate whether the source may be at a private address; if null, its URL decides.
 * @throws Problem `source_exists`, `id_taken`, `invalid_field`.
 */
export async function addSource(
  store: Store,
  source: NewSource,
  allowPrivate: boolean | null = null,
): Promise<WatchedSource> {
  await requireValidSettings(source, store.clock.now());
  requirePicture(source);
  const scheduled = hasSchedule(source) ? nextScheduled(source, store) : null;
  return store.write((database) => {
    const next_check_at = scheduled ?? firstCheck(database, store);
    return watchedSource(database, watchSource(database, store, source, next_check_at, allowPrivate));
  });
}

async function requireValidSettings(
  source: Pick<SourceSettings, 'noise_rules' | 'watch' | 'follow'> & Schedule,
  now: number,
): Promise<void> {
  await requireValidScope({ watch: source.watch, rules: source.noise_rules }, '/noise_rules');
  await requireValidFollow(source.follow);
  requireValidSchedule(source, now);
}

/**
 * Returns when a source whose schedule is set now is next due: at the next time of its cron expression, else when it was
 * due before, or in a minute, within its active hours.
 */
export function nextScheduled(
  schedule: Schedule,
  store: Pick<Store, 'clock' | 'randomHex'>,
  before: string | null = null,
): string {
  const { every, active_hours } = schedule;
  const [now, fraction] = [store.clock.now(), randomFraction(store)];
  if (every !== null) return instantOf(nextCheckTime(schedule, { everyMinutes: 1, from: now, fraction }));
  const at = before === null ? now + FIRST_CHECK_DELAY_MS : Math.max(now, Date.parse(before));
  const begin = active_hours && waitsForHours(active_hours, at, fraction);
  return instantOf(begin ?? at);
}

/** Returns when a source that is added by itself is first checked: in a minute, or later if many others are due then. */
function firstCheck(database: WriteDatabase, store: Pick<Store, 'clock' | 'randomHex'>): string {
  const soonest = store.clock.now() + FIRST_CHECK_DELAY_MS;
  const from = instantOf(soonest - MAX_SPREAD_MS);
  const others = countDueBetween(database, from, instantOf(soonest + MAX_SPREAD_MS));
  const spread = Math.min(MAX_SPREAD_MS, others * FIRST_CHECK_SPACING_MS);
  return instantOf(soonest + Math.floor(spread * randomFraction(store)));
}

/** Adds a source inside the caller's transaction. Throws the same problems, before it writes anything. */
export function watchSource(
  database: WriteDatabase,
  store: Pick<Store, 'instant'>,
  { url: givenUrl, ...fields }: NewSource,
  next_check_at: string,
  allow_private: boolean | null = null,
  found_in: string | null = null,
): SourceRow {
  const url = normalizeUrl(givenUrl);
  const id = sourceIdOf(url);
  requireProfileOf(database, fields.profile, url);
  const needs_login = fields.profile !== null;
  const settings: SourceSettings = { ...fields, needs_login, paused: false, allow_private, found_in };
  const known = sourceById(database, id);
  if (known && known.url !== url)
    throw new Problem('id_taken', `Another URL already has the id ${id}. This URL cannot be watched.`);
  if (known && !known.removed) {
    const { paused } = known;
    throw new Problem(
      'source_exists',
      paused
        ? 'This URL is a source, but it is paused. Resume it on its page.'
        : 'This URL is already watched.',
      { members: { source: id, paused } },
    );
  }
  const added_at = store.instant();
  const row = { ...settings, id, url, added_at, next_check_at, removed: false };
  const revision = nextSeq(database);
  let key = known?.key;
  if (key === undefined) key = insertSource(database, { ...row, revision });
  else updateSource(database, { ...row, key, revision });
  recordRevision(database, 'source.added', { ...row, key }, added_at);
  return requireSource(database, id);
}

const { url: _example, ...DEFAULTS } = newSourceSchema.parse({ url: 'http://localhost/' });

/**
 * Returns the source of a URL, inside the caller's transaction, even if it is paused or removed. If there is none,
 * adds a paused source, so that imported captures have a history and the owner can start watching the URL.
 *
 * @param at the current time, for the record. @returns `isNew` is true if the source was added.
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
    ...DEFAULTS,
    id,
    url,
    needs_login: false,
    paused: true,
    allow_private: null,
    found_in: null,
    added_at: at,
    next_check_at: at,
    removed: false,
  };
  const added = insertSource(database, { ...row, revision: nextSeq(database) });
  recordRevision(database, 'source.added', { ...row, key: added }, at);
  return { key: added, id, url, isNew: true };
}

/**
 * Changes the given settings of a source. If no value changes, nothing is recorded.
 *
 * @throws Problem `not_found` if no such source is watched; `invalid_field`.
 */
export async function changeSource(store: Store, id: string, change: SourceChange): Promise<WatchedSource> {
  const before = requireWatched(store.read, id);
  const wanted = { ...before, ...change };
  await requireValidSettings(
    { ...wanted, noise_rules: change.noise_rules ?? [], watch: change.watch ?? null },
    store.clock.now(),
  );
  const isRescheduled = !hasSameSchedule(before, wanted);
  const due = before.every === null ? before.next_check_at : null;
  const scheduled = isRescheduled ? nextScheduled(wanted, store, due) : null;
  return store.write((database) => {
    const source = requireWatched(database, id);
    const changed = { ...source, ...change };
    requirePicture(changed);
    if (!isDeepStrictEqual(changed.watch, source.watch)) requireNoWordsAsked(database, changed);
    if (change.profile !== undefined) {
      requireProfileOf(database, change.profile, source.url);
      changed.needs_login = change.profile !== null;
    }
    if (scheduled !== null) changed.next_check_at = scheduled;
    if (!hasSameSettings(changed, source)) writeRevision(database, changed, store.instant());
    if (change.follow !== undefined && !isDeepStrictEqual(change.follow, source.follow))
      forgetWaitingLinks(database, source.key);
    return watchedSource(database, requireSource(database, id));
  });
}

/** Gives a source a name and an agency inside the caller's transaction. @throws Problem `not_found` */
export function labelSource(
  database: WriteDatabase,
  id: string,
  labels: { name: string; agency: string },
  at: string,
): void {
  const source = requireWatched(database, id);
  const changed = { ...source, ...labels };
  if (!hasSameSettings(changed, source)) writeRevision(database, changed, at);
}

/** Whether the cron expressions and active hours are the same. A changed interval counts from the next check on. */
function hasSameSchedule(left: Schedule, right: Schedule): boolean {
  if (!hasSchedule(left) && !hasSchedule(right)) return true;
  const timesOf = ({ every, time_zone, active_hours }: Schedule) => ({ every, time_zone, active_hours });
  return isDeepStrictEqual(timesOf(left), timesOf(right));
}

/** Stops watching a source. Its history stays. @throws Problem `not_found` if no such source is watched. */
export function removeSource(store: Store, id: string): Promise<void> {
  return store.write((database) => {
    const source = requireWatched(database, id);
    writeRevision(database, { ...source, removed: true }, store.instant());
    forgetWaitingLinks(database, source.key);
    // Others may take its place.
    forgetFollowRunsWith(database, id);
  });
}

function requireWatched(database: Store['read'], id: string): SourceRow {
  const source = requireSource(database, id);
  if (source.removed) throw new Problem('not_found', 'This source is no longer watched.');
  return source;
}

/** Lists the watched sources as visitors see them. */
export function listSources({ read }: Pick<Store, 'read'>, query: SourcesQuery): Slice<Source> {
  const { items, total } = listRows({ read }, query);
  return { items: items.map((row) => publicSource(read, row)), total };
}

/** Lists the watched sources as the owner sees them. */
export function listWatchedSources({ read }: Pick<Store, 'read'>, query: SourcesQuery): Slice<WatchedSource> {
  const { items, total } = listRows({ read }, query);
  return { items: items.map((row) => watchedSource(read, row)), total };
}

function listRows(
  { read }: Pick<Store, 'read'>,
  { q, agency, tag, state, paused, ...place }: SourcesQuery,
): Slice<SourceRow> {
  const filter = {
    match: (q && matchExpression(q)) || null,
    agency: agency ?? null,
    tag: tag ?? null,
    state: state ?? null,
    paused: paused ?? null,
  };
  return listSourceRows(read, filter, place);
}

/** Returns a source as visitors see it, even if it was removed. @throws Problem `not_found`. */
export function readSource({ read }: Pick<Store, 'read'>, id: string): Source {
  return publicSource(read, requireSource(read, id));
}

/** Returns a source as the owner sees it, even if it was removed. @throws Problem `not_found`. */
export function readWatchedSource({ read }: Pick<Store, 'read'>, id: string): WatchedSource {
  return onSnapshot(read, () => watchedSource(read, requireSource(read, id)));
}

/** Lists every attempt on a source, newest first. @throws Problem `not_found`. */
export function listRetrievals(
  { read }: Pick<Store, 'read'>,
  id: string,
  page: { limit: number; offset: number },
): Slice<Retrieval> {
  return retrievalsOfSource(read, page, requireSource(read, id).key);
}

/** @throws Problem `invalid_field` if a region is watched of a source that has no picture */
function requirePicture({ watch, capture }: Pick<SourceSettings, 'watch' | 'capture'>): void {
  if (!watchedRegion(watch) || capture === 'page') return;
  throw regionRefused(
    'A region is a part of the picture of a page, and this source has none: set “capture” to “page”, or watch another part.',
  );
}

/** @throws Problem `invalid_field` if a region is watched of a source in which an alert looks for words or numbers */
function requireNoWordsAsked(database: Store['read'], { id, watch }: Pick<SourceRow, 'id' | 'watch'>): void {
  if (!watchedRegion(watch)) return;
  const asking = allRules(database).find(({ when }) => when.sources?.includes(id) && asksForText(when));
  if (asking)
    throw regionRefused(
      `The alert “${asking.name}” looks for words or numbers in this source, and a region of a picture has none. Change the alert first.`,
    );
}

function regionRefused(message: string): Problem {
  return new Problem('invalid_field', message, { errors: [{ path: '/watch/region', message }] });
}

/** Returns the row of a source. @throws Problem `not_found`. */
function requireSource(database: Store['read'], id: string): SourceRow {
  const source = sourceById(database, id);
  if (!source) throw new Problem('not_found', 'There is no such source.');
  return source;
}

function publicSource(database: Store['read'], row: SourceRow): Source {
  const isCaptured = isKnownByCapturesOnly(database, row);
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
    last_event_type: lastEvent(database, row.key, { isOwn: !isCaptured })?.type ?? null,
    page_label: labelOfNewestVersion(database, row.key, { isOwn: !isCaptured }),
    capture: row.capture,
    page_error: row.capture === 'page' ? row.page_error : null,
    last_page: newestPageId(database, row.key) ?? null,
    captures_only: isCaptured,
  };
}

/** Returns the event that a source names as its last: the node's own one, also of its browser, or a captured one. */
function lastEvent(database: Store['read'], key: number, { isOwn }: { isOwn: boolean }) {
  return isOwn ? lastOwnEvent(database, key) : lastCapturedEvent(database, key);
}

function isKnownByCapturesOnly(database: Store['read'], row: SourceRow): boolean {
  return row.paused && row.last_checked_at === null && hasRetrieval(database, row.key);
}

/** Returns a source as the owner sees it. */
function watchedSource(database: Store['read'], row: SourceRow): WatchedSource {
  const source = publicSource(database, row);
  return {
    ...source,
    last_event_at: lastEvent(database, row.key, { isOwn: !source.captures_only })?.at ?? null,
    recent_checks: recentChecks(database, row.key, RECENT_CHECKS),
    max_object_mb: row.max_object_mb,
    ignore_robots: row.ignore_robots,
    headers: row.headers,
    noise_rules: row.noise_rules,
    watch: row.watch,
    watch_lost_at: row.watch === null ? null : row.watch_lost_at,
    every: row.every,
    time_zone: row.time_zone,
    active_hours: row.active_hours,
    follow: row.follow,
    picture_events: row.picture_events,
    keep_days: row.keep_days,
    profile: row.profile,
    login: loginOf(database, row),
    login_expired_at: row.login_expired_at,
    follow_run: row.follow && runOf(followRun(database, row.key)),
    found_waiting: row.follow ? countWaiting(database, row.key) : 0,
    found_in: row.found_in,
    unlinked_at: row.found_in === null ? null : unlinkedAt(database, row.id, row.found_in),
    allow_private: allowsPrivateAddress(row, isPrivateAddress),
    next_check_at: row.paused || row.removed ? null : row.next_check_at,
    last_status: row.last_status,
    last_error: row.last_error,
    consecutive_failures: row.consecutive,
    failing_since: row.failing_since,
    removed: row.removed,
  };
}

/** Returns the state of the login of a source. Its profile may have expired for another source only. */
function loginOf(
  database: Store['read'],
  { needs_login, profile, login_expired_at }: SourceRow,
): WatchedSource['login'] {
  if (!needs_login) return null;
  const state = profile === null ? undefined : profileState(database, profile);
  if (state === undefined) return 'missing';
  if (state === 'unreadable') return state;
  if (login_expired_at !== null) return 'expired';
  return state === 'expired' ? 'works' : state;
}

/** @throws Problem `invalid_field` if there is no such profile, or it is for another site than this address */
export function requireProfileOf(database: Store['read'], id: string | null, url: string): void {
  if (id === null) return;
  const profile = profileById(database, id);
  if (profile && isOfSite(new URL(url), profile.site)) return;
  const message = profile
    ? `This profile is for ${profile.site} and is sent nowhere else.`
    : 'There is no such profile.';
  throw new Problem('invalid_field', message, { errors: [{ path: '/profile', message }] });
}

function runOf(run: FollowRunRow | undefined): FollowRun | null {
  if (!run || isForgotten(run)) return null;
  const { at, listed, matched, complete, problem } = run;
  return { at, listed, matched, complete, problem };
}

/** Requires `match` to be a regular expression of RE2's syntax. @throws Problem `invalid_field`. */
export async function requireValidFollow(follow: Follow | null | undefined): Promise<void> {
  if (follow?.match !== undefined) await requireExpression(follow.match, '/follow/match');
}

/**
 * Requires a regular expression of RE2's syntax.
 *
 * @param path JSON Pointer to it in the request body
 * @throws Problem `invalid_field`
 */
export async function requireExpression(value: string, path: string): Promise<void> {
  // Loaded with the first expression, because its tables of Unicode are large.
  const { RE2JS, RE2JSException } = await import('re2js');
  try {
    RE2JS.compile(value);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    const message = `This is not a regular expression of RE2’s syntax (${error.message.replace(/^error parsing regexp: /, '')}).`;
    throw new Problem('invalid_field', 'The regular expression cannot be used.', {
      errors: [{ path, message }],
    });
  }
}
