import type { NewSource } from '../../../shared/collection/source.ts';
import { Problem } from '../../../shared/problems.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import {
  countFollowed,
  deleteFoundLink,
  type FoundLinkRow,
  foundLinksOf,
  putFoundLink,
  setFoundState,
} from '../../store/sqlite/collection/foundLinks.ts';
import { markUnnamed, type SourceRow, whereFound } from '../../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import { hasSchedule } from '../schedule/nextCheck.ts';
import {
  FIRST_CHECK_DELAY_MS,
  FIRST_CHECK_SPACING_MS,
  nextScheduled,
  sourceIdOf,
  watchSource,
} from '../sources/sources.ts';
import type { ReadLinks } from './readLinks.ts';

/** The most addresses that wait or are watched, over all sources. */
export const MAX_FOLLOWED = 10_000;

/**
 * Keeps the new addresses of a source as waiting, and notes which known ones are no longer there. An address that is
 * watched, or that the owner refused or stopped watching, is not taken again. Addresses that wait but are no longer
 * linked make room for new ones, oldest first.
 */
export function keepLinks(
  database: WriteDatabase,
  store: Pick<Store, 'instant'>,
  source: SourceRow & { follow: { limit: number } },
  { links, linked, complete }: Pick<ReadLinks, 'links' | 'linked' | 'complete'>,
): void {
  const at = store.instant();
  const known = foundLinksOf(database, source.key).map((row) =>
    markLinked(database, row, linked, complete, at),
  );
  const ids = new Set(known.map(({ id }) => id));
  const fresh: { id: string; url: string; title: string }[] = [];
  for (const { url, title } of links) {
    const id = sourceIdOf(url);
    if (ids.has(id)) continue;
    if (fresh.length >= source.follow.limit) break;
    const foundIn = whereFound(database, id);
    if (foundIn === undefined) fresh.push({ id, url, title });
    // After a restore, the list of what was found is empty.
    else if (foundIn === source.id)
      putFoundLink(database, rowOf(source.key, { id, url, title }, 'added', at));
  }
  const dispensable = known.filter(({ state, unlinked_at }) => state === 'waiting' && unlinked_at !== null);
  let room = Math.min(
    source.follow.limit - countFollowed(database, source.key),
    MAX_FOLLOWED - countFollowed(database),
  );
  for (const row of dispensable.slice(0, Math.max(0, fresh.length - Math.max(0, room)))) {
    deleteFoundLink(database, row);
    room += 1;
  }
  for (const link of fresh.slice(0, Math.max(0, room)))
    putFoundLink(database, rowOf(source.key, link, 'waiting', at));
}

function rowOf(
  source_key: number,
  link: Pick<FoundLinkRow, 'id' | 'url' | 'title'>,
  state: FoundLinkRow['state'],
  found_at: string,
): FoundLinkRow {
  return { source_key, ...link, state, found_at, unlinked_at: null };
}

function markLinked(
  database: WriteDatabase,
  row: FoundLinkRow,
  linked: ReadonlySet<string>,
  complete: boolean,
  at: string,
): FoundLinkRow {
  const isLinked = linked.has(row.url);
  // A document that was not read to the end may still contain the address.
  if (isLinked ? row.unlinked_at === null : row.unlinked_at !== null || !complete) return row;
  const marked = { ...row, unlinked_at: isLinked ? null : at };
  putFoundLink(database, marked);
  return marked;
}

/** The settings that an added address takes from the source in which it was found. */
function newSourceOf({ url, title }: FoundLinkRow, parent: SourceRow): NewSource {
  const { agency, tags, every_minutes, every, time_zone, active_hours, max_object_mb } = parent;
  return {
    url,
    name: title,
    agency,
    tags,
    every_minutes,
    every,
    time_zone,
    active_hours,
    max_object_mb,
    ignore_robots: false,
    headers: {},
    noise_rules: [],
    follow: null,
  };
}

/**
 * Returns when an address that is added is first checked, by the schedule of the source in which it was found.
 *
 * @param index its position among those that are added together, which spreads their first checks
 */
export function firstCheckOf(
  store: Pick<Store, 'clock' | 'randomHex'>,
  parent: SourceRow,
  index: number,
): string {
  const soon = instantOf(store.clock.now() + FIRST_CHECK_DELAY_MS + index * FIRST_CHECK_SPACING_MS);
  return hasSchedule(parent) ? nextScheduled(parent, store, soon) : soon;
}

/** Watches a found address, inside the caller's transaction. Returns `already` if the address is watched. */
export function watchFound(
  database: WriteDatabase,
  store: Pick<Store, 'instant'>,
  { link, parent }: { link: FoundLinkRow; parent: SourceRow },
  { allowPrivate, nextCheck }: { allowPrivate: boolean; nextCheck: string },
): 'added' | 'already' {
  setFoundState(database, link.id, 'added');
  try {
    const { key, name } = watchSource(
      database,
      store,
      newSourceOf(link, parent),
      nextCheck,
      allowPrivate,
      parent.id,
    );
    if (name === '') markUnnamed(database, key);
    return 'added';
  } catch (error) {
    // `watchSource` throws a Problem before it writes anything.
    if (error instanceof Problem && (error.code === 'source_exists' || error.code === 'id_taken'))
      return 'already';
    throw error;
  }
}
