import pLimit from 'p-limit';
import type {
  ApprovedLinks,
  ChosenLinks,
  Follow,
  FoundLink,
  FoundLinksQuery,
} from '../../../shared/collection/follow.ts';
import type { NewSource } from '../../../shared/collection/source.ts';
import { Problem } from '../../../shared/problems.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import type { Slice } from '../../../shared/values/list.ts';
import { fingerprintOf } from '../../ledger/entry.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import type { Log } from '../../runtime/log.ts';
import {
  countFollowed,
  deleteFoundLink,
  type FoundLinkRow,
  followRun,
  forgetFollowRun,
  foundLinksOf,
  listFoundLinks,
  putFollowRun,
  putFoundLink,
  retrievalOfVersion,
  setFoundState,
  waitingIds,
  waitingLink,
} from '../../store/sqlite/collection/foundLinks.ts';
import { profileById } from '../../store/sqlite/collection/profiles.ts';
import {
  markUnnamed,
  type SourceRow,
  sourceByKey,
  whereFound,
} from '../../store/sqlite/collection/sources.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { isReleased } from '../../store/sqlite/node/withheld.ts';
import { isStorageFailure } from '../../store/storageErrors.ts';
import type { Store } from '../../store/store.ts';
import { objectToRead } from '../derived/process/deriver.ts';
import { NotDerivableError } from '../derived/process/tasks.ts';
import type { Network } from '../fetch/requester.ts';
import { isOfSite } from '../profiles/cookies.ts';
import { LoginMissingError } from '../profiles/profiles.ts';
import { isHidden } from '../record/recordRetrieval.ts';
import { hasSchedule } from '../schedule/nextCheck.ts';
import { allowsPrivateAddress, PrivateAddressCheck } from '../sources/privateSources.ts';
import {
  FIRST_CHECK_DELAY_MS,
  FIRST_CHECK_SPACING_MS,
  nextScheduled,
  sourceIdOf,
  watchSource,
} from '../sources/sources.ts';
import { type FollowServices, isWallOrError, type ReadLinks, readLinks } from './readLinks.ts';

/** Sources whose links are read at the same time. */
const AT_ONCE = 4;
/** Sources that are added in one transaction. */
const BATCH = 50;

type Followed = SourceRow & { follow: Follow; last_sha256: string };

/** Reads what the newest versions of followed sources link to, and keeps or adds what matches. */
export class Follower {
  readonly #services: FollowServices & { log: Log };

  constructor(services: FollowServices & { log: Log }) {
    this.#services = services;
  }

  /** Follows those of these sources that have an unread version. */
  async follow(sourceKeys: readonly number[], signal: AbortSignal): Promise<void> {
    const limit = pLimit(AT_ONCE);
    await Promise.all(sourceKeys.map((key) => limit(() => this.#follow(key, signal))));
  }

  async #follow(key: number, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#services;
    if (signal.aborted) return;
    try {
      const source = sourceByKey(store.read, key);
      if (source && isFollowed(source)) await this.#readNewest(source, signal);
    } catch (error) {
      // That a login is missing is said by the check of the source.
      if (signal.aborted || error instanceof LoginMissingError) return;
      if (isStorageFailure(error)) throw error;
      log.error({ error, source: key }, 'The links of a source could not be followed');
    }
  }

  async #readNewest(source: Followed, signal: AbortSignal): Promise<void> {
    const { store } = this.#services;
    const { follow, last_sha256 } = source;
    const settings = fingerprintOf(follow);
    const before = followRun(store.read, source.key);
    const isRead = before?.sha256 === last_sha256 && before.settings === settings;
    if (isRead && !before.is_index) return this.#addWaiting(source);
    const version = retrievalOfVersion(store.read, source.key, last_sha256);
    if (!version || isWallOrError(version.page_label)) return;
    const known = foundLinksOf(store.read, source.key).map(({ url }) => url);
    const run = { source_key: source.key, sha256: last_sha256, settings, at: store.instant() };
    const document = { object: objectToRead(store, last_sha256), url: version.final_url };
    const read = await readLinks(this.#services, source, document, { known, signal }).catch(nothingRead);
    await this.#keep(source, read, run);
  }

  async #keep(
    source: Followed,
    read: ReadLinks,
    run: { source_key: number; sha256: string; settings: string; at: string },
  ): Promise<void> {
    const { store } = this.#services;
    const { listed, complete, problem, links, isIndex } = read;
    await store.writeInSteps(function* (database) {
      const now = sourceByKey(database, source.key);
      // The owner may have changed it meanwhile, or given up the version.
      if (!now || !isFollowed(now) || fingerprintOf(now.follow) !== run.settings) return;
      if (isReleased(database, run.sha256)) return;
      putFollowRun(database, { ...run, is_index: isIndex, listed, matched: links.length, complete, problem });
      yield* keepLinks(database, store, now, read);
    });
    await this.#addWaiting(source);
  }

  /** Adds waiting addresses if no approval is needed, including those left when the node stopped between two batches. */
  async #addWaiting(source: Followed): Promise<void> {
    const { store } = this.#services;
    if (source.follow.approve) return;
    const waiting = foundLinksOf(store.read, source.key).filter(({ state }) => state === 'waiting');
    for (let start = 0; start < waiting.length; start += BATCH) {
      const ids = waiting.slice(start, start + BATCH).map(({ id }) => id);
      await this.#addAll(source, ids, start);
      await yieldToEventLoop();
    }
  }

  async #addAll(parent: Followed, ids: readonly string[], start: number): Promise<void> {
    const { store, fetching } = this.#services;
    const mayBePrivate = allowsPrivateAddress(parent, fetching.isPrivateAddress);
    const host = URL.parse(parent.url)?.hostname;
    const checks = ids.map((id, index) => ({ id, nextCheck: firstCheckOf(store, parent, start + index) }));
    await store.write((database) => {
      for (const { id, nextCheck } of checks) {
        const link = waitingLink(database, id);
        if (!link) continue;
        // Only on the same host, because nobody approved the address.
        const allowPrivate = mayBePrivate && URL.parse(link.url)?.hostname === host;
        watchFound(database, store, { link, parent }, { allowPrivate, nextCheck });
      }
    });
  }
}

/** A version that cannot be read gives no text to any link either. */
function nothingRead(error: unknown): ReadLinks {
  if (!(error instanceof NotDerivableError)) throw error;
  const problem = error.message;
  return { links: [], linked: new Set(), listed: 0, complete: false, problem, isIndex: false };
}

function isFollowed(source: SourceRow): source is Followed {
  return !source.removed && source.follow !== null && source.last_sha256 !== null;
}

/** The most addresses that wait or are watched, over all sources. */
const MAX_FOLLOWED = 10_000;

/** How many more addresses a source may bring. It has no key if it is not watched. */
export function roomFor(
  database: ReadDatabase,
  follow: Pick<Follow, 'limit'>,
  key: number | undefined,
): number {
  const own = key === undefined ? 0 : countFollowed(database, key);
  return Math.min(follow.limit - own, MAX_FOLLOWED - countFollowed(database));
}

/** How many addresses are read or written before the event loop gets a turn. */
const STEP = 100;

/**
 * Keeps the new addresses of a source as waiting, and notes which known ones are no longer there. An address that is
 * watched, or that the owner refused or stopped watching, is not taken again. Addresses that wait but are no longer
 * linked make room for new ones, oldest first. It yields wherever it can be interrupted.
 */
function* keepLinks(
  database: WriteDatabase,
  store: Pick<Store, 'instant'>,
  source: SourceRow & { follow: { limit: number } },
  { links, linked, complete }: Pick<ReadLinks, 'links' | 'linked' | 'complete'>,
): Generator<void, void, void> {
  const at = store.instant();
  const known: FoundLinkRow[] = [];
  const titles = new Map(links.map(({ url, title }) => [url, title]));
  for (const row of foundLinksOf(database, source.key))
    if (known.push(markLinked(database, row, { linked, titles, complete, at })) % STEP === 0) yield;
  const ids = new Set(known.map(({ id }) => id));
  const fresh: { id: string; url: string; title: string }[] = [];
  for (const [index, { url, title }] of links.entries()) {
    if (index % STEP === 0) yield;
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
  let room = roomFor(database, source.follow, source.key);
  for (const row of dispensable.slice(0, Math.max(0, fresh.length - Math.max(0, room)))) {
    deleteFoundLink(database, row);
    room += 1;
    if (room % STEP === 0) yield;
  }
  for (const [index, link] of fresh.slice(0, Math.max(0, room)).entries()) {
    putFoundLink(database, rowOf(source.key, link, 'waiting', at));
    if (index % STEP === 0) yield;
  }
}

function rowOf(
  source_key: number,
  link: Pick<FoundLinkRow, 'id' | 'url' | 'title'>,
  state: FoundLinkRow['state'],
  found_at: string,
): FoundLinkRow {
  return { source_key, ...link, state, found_at, unlinked_at: null };
}

interface Reading {
  linked: ReadonlySet<string>;
  /** The texts of the links of this version, by their addresses. */
  titles: ReadonlyMap<string, string>;
  complete: boolean;
  at: string;
}

/**
 * Notes whether an address is still linked, and as what. The text of one that is linked, or may be, is that of the newest
 * version that was read, or empty: whether everyone may read it is asked of that version. The text of one that is no longer
 * linked may be of any older version.
 */
function markLinked(
  database: WriteDatabase,
  row: FoundLinkRow,
  { linked, titles, complete, at }: Reading,
): FoundLinkRow {
  // A document that was not read to the end may still contain the address.
  const unlinked_at = linked.has(row.url) ? null : (row.unlinked_at ?? (complete ? at : null));
  const title = titles.get(row.url) ?? (unlinked_at === null ? '' : row.title);
  if (title === row.title && unlinked_at === row.unlinked_at) return row;
  const marked = { ...row, title, unlinked_at };
  putFoundLink(database, marked);
  return marked;
}

/**
 * The name of an address that is added: the text of its link, if the version that has it may be read by everyone. Names are
 * public, and what only a login shows, or what is withheld, is not.
 */
function nameOf(database: WriteDatabase, { title, unlinked_at }: FoundLinkRow, parent: SourceRow): string {
  const read = followRun(database, parent.key)?.sha256 ?? parent.last_sha256;
  return parent.needs_login || unlinked_at !== null || isHidden(database, read) ? '' : title;
}

/** The settings that an added address takes from the source in which it was found. */
function newSourceOf(
  { url, name }: { url: string; name: string },
  parent: SourceRow,
  profile: string | null,
): NewSource {
  const { agency, tags, every_minutes, every, time_zone, active_hours, max_object_mb } = parent;
  return {
    url,
    name,
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
    watch: null,
    follow: null,
    capture: 'object',
    picture_events: null,
    keep_days: null,
    profile,
  };
}

/**
 * Returns when an address that is added is first checked, by the schedule of the source in which it was found.
 *
 * @param index its position among those that are added together, which spreads their first checks
 */
function firstCheckOf(store: Pick<Store, 'clock' | 'randomHex'>, parent: SourceRow, index: number): string {
  const soon = instantOf(store.clock.now() + FIRST_CHECK_DELAY_MS + index * FIRST_CHECK_SPACING_MS);
  return hasSchedule(parent) ? nextScheduled(parent, store, soon) : soon;
}

/** Watches a found address, inside the caller's transaction. Returns `already` if the address is watched. */
function watchFound(
  database: WriteDatabase,
  store: Pick<Store, 'instant'>,
  { link, parent }: { link: FoundLinkRow; parent: SourceRow },
  { allowPrivate, nextCheck }: { allowPrivate: boolean; nextCheck: string },
): 'added' | 'already' {
  setFoundState(database, { id: link.id, state: 'added' });
  // What a page behind a login links to may need the login, too, if it is at its site.
  const login = parent.profile === null ? undefined : profileById(database, parent.profile);
  const profile = login && isOfSite(new URL(link.url), login.site) ? login.id : null;
  try {
    const { key, name } = watchSource(
      database,
      store,
      newSourceOf({ url: link.url, name: nameOf(database, link, parent) }, parent, profile),
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

/** Lists what followed sources link to, by source and newest first. */
export function listFound({ read }: Pick<Store, 'read'>, query: FoundLinksQuery): Slice<FoundLink> {
  const { state = null, source = null, limit, offset } = query;
  return listFoundLinks(read, { state, source }, { limit, offset });
}

/** Watches those of the chosen addresses that wait. Their first checks are spread over time. */
export async function approveFound(
  { store, network }: { store: Store; network: Network },
  chosen: ChosenLinks,
): Promise<ApprovedLinks> {
  const result: ApprovedLinks = { added: 0, already: 0, sources: [] };
  const ids = idsOf(store, chosen);
  const privateAddresses = new PrivateAddressCheck(network, ids.length);
  for (let start = 0; start < ids.length; start += BATCH) {
    const batch = await Promise.all(
      ids.slice(start, start + BATCH).map(async (id, index) => {
        const link = waitingLink(store.read, id);
        const parent = link && sourceByKey(store.read, link.source_key);
        if (!link || !parent) return [];
        const nextCheck = firstCheckOf(store, parent, start + index);
        return [{ id, nextCheck, allowPrivate: await mayBePrivate(parent, link.url) }];
      }),
    );
    await store.write((database) => {
      for (const { id, ...position } of batch.flat()) {
        const link = waitingLink(database, id);
        const parent = link && sourceByKey(database, link.source_key);
        if (!link || !parent || parent.removed) continue;
        result[watchFound(database, store, { link, parent }, position)] += 1;
        result.sources.push(id);
      }
    });
  }
  return result;

  /** A page on the internet must not lead to the owner's own network, even if nobody noticed when it was approved. */
  async function mayBePrivate(parent: SourceRow, url: string): Promise<boolean> {
    if (!allowsPrivateAddress(parent, network.isPrivateAddress)) return false;
    return privateAddresses.allows(url);
  }
}

/** Refuses those of the chosen addresses that wait. They are not offered again; others may take their place. */
export function refuseFound(store: Store, chosen: ChosenLinks): Promise<{ refused: number }> {
  return store.write((database) => {
    let refused = 0;
    for (const id of idsOf({ read: database }, chosen)) {
      const link = waitingLink(database, id);
      if (!link) continue;
      setFoundState(database, { id, state: 'refused' });
      // Addresses beyond the limit are offered after the next check.
      forgetFollowRun(database, link.source_key);
      refused += 1;
    }
    return { refused };
  });
}

function idsOf({ read }: Pick<Store, 'read'>, chosen: ChosenLinks): string[] {
  if ('ids' in chosen) return [...new Set(chosen.ids)];
  return waitingIds(read, { source: chosen.source ?? null, limit: MAX_FOLLOWED });
}
