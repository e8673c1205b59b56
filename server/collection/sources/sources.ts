import { isDeepStrictEqual } from 'node:util';
import type { Schedule } from '../../../shared/collection/schedule/scheduleFields.ts';
import {
  type NewSource,
  newSourceSchema,
  type SourceChange,
  type WatchedSource,
} from '../../../shared/collection/source.ts';
import { Problem } from '../../../shared/problems.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { ID_DIGITS } from '../../../shared/values/digest.ts';
import { nextSeq } from '../../ledger/appendEntry.ts';
import { sha256Of } from '../../ledger/entry.ts';
import { randomFraction } from '../../store/randomFraction.ts';
import { countDueBetween } from '../../store/sqlite/collection/dueTimes.ts';
import { forgetFollowRunsWith, forgetWaitingLinks } from '../../store/sqlite/collection/foundLinks.ts';
import {
  insertSource,
  type SourceRow,
  type SourceSettings,
  sourceById,
  sourceKeyOf,
  updateSource,
} from '../../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import { requireValidFollow } from '../follow/requireValidFollow.ts';
import { requireValidRules } from '../noise/requireValidRules.ts';
import { hasSchedule, nextCheckTime, requireValidSchedule, waitsForHours } from '../schedule/nextCheck.ts';
import { requireSource, watchedSource } from './readSources.ts';
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
  const scheduled = hasSchedule(source) ? nextScheduled(source, store) : null;
  return store.write((database) => {
    const next_check_at = scheduled ?? firstCheck(database, store);
    return watchedSource(database, watchSource(database, store, source, next_check_at, allowPrivate));
  });
}

async function requireValidSettings(
  source: Pick<SourceSettings, 'noise_rules' | 'follow'> & Schedule,
  now: number,
): Promise<void> {
  await requireValidRules(source.noise_rules, '/noise_rules');
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
  const settings: SourceSettings = { ...fields, paused: false, allow_private, found_in };
  const known = sourceById(database, id);
  if (known && known.url !== url)
    throw new Problem('id_taken', `Another URL already has the id ${id}. This URL cannot be watched.`);
  if (known && !known.removed) {
    throw new Problem('source_exists', 'This URL is already watched.', { members: { source: id } });
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
  await requireValidSettings({ ...wanted, noise_rules: change.noise_rules ?? [] }, store.clock.now());
  const isRescheduled = !hasSameSchedule(before, wanted);
  const due = before.every === null ? before.next_check_at : null;
  const scheduled = isRescheduled ? nextScheduled(wanted, store, due) : null;
  return store.write((database) => {
    const source = requireWatched(database, id);
    const changed = { ...source, ...change };
    if (scheduled !== null) changed.next_check_at = scheduled;
    if (!hasSameSettings(changed, source)) writeRevision(database, changed, store.instant());
    if (change.follow !== undefined && !isDeepStrictEqual(change.follow, source.follow))
      forgetWaitingLinks(database, source.key);
    return watchedSource(database, requireSource(database, id));
  });
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
