import { setImmediate } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Follow } from '../../../shared/collection/follow.ts';
import { fingerprintOf } from '../../ledger/entry.ts';
import type { Log } from '../../runtime/log.ts';
import {
  followRun,
  foundLinksOf,
  putFollowRun,
  retrievalOfVersion,
  waitingLink,
} from '../../store/sqlite/collection/foundLinks.ts';
import { type SourceRow, sourceByKey } from '../../store/sqlite/collection/sources.ts';
import { isStorageFailure } from '../../store/storageSpace.ts';
import { NotDerivableError } from '../derived/notDerivable.ts';
import { allowsPrivateAddress, isPrivateHost } from '../sources/privateSources.ts';
import { firstCheckOf, keepLinks, watchFound } from './keepLinks.ts';
import { type FollowServices, type ReadLinks, readLinks } from './readLinks.ts';

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
      if (signal.aborted) return;
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
    // A bot wall or an error page has other links than the page, or none.
    if (!version || isWallOrError(version.page_label)) return;
    const known = foundLinksOf(store.read, source.key).map(({ url }) => url);
    const run = { source_key: source.key, sha256: last_sha256, settings, at: store.instant() };
    try {
      const read = await readLinks(this.#services, source, { url: version.final_url, known, signal });
      await this.#keep(source, this.#withoutPrivate(source, read), run);
    } catch (error) {
      if (!(error instanceof NotDerivableError)) throw error;
      const nothing = { is_index: false, listed: 0, matched: 0, complete: false, problem: error.message };
      await store.write((database) => putFollowRun(database, { ...run, ...nothing }));
    }
  }

  /** A page on the internet must not lead to addresses in the owner's own network. */
  #withoutPrivate(source: SourceRow, read: ReadLinks): ReadLinks {
    const { isPrivateAddress } = this.#services.fetching;
    if (allowsPrivateAddress(source, isPrivateAddress)) return read;
    return { ...read, links: read.links.filter(({ url }) => !isPrivateHost(url, isPrivateAddress)) };
  }

  async #keep(
    source: Followed,
    read: ReadLinks,
    run: { source_key: number; sha256: string; settings: string; at: string },
  ): Promise<void> {
    const { store } = this.#services;
    const { listed, complete, problem, links, isIndex } = read;
    await store.write((database) => {
      const now = sourceByKey(database, source.key);
      // The owner may have changed it meanwhile.
      if (!now || !isFollowed(now) || fingerprintOf(now.follow) !== run.settings) return;
      putFollowRun(database, { ...run, is_index: isIndex, listed, matched: links.length, complete, problem });
      keepLinks(database, store, now, read);
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
      await setImmediate();
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

function isFollowed(source: SourceRow): source is Followed {
  return !source.removed && source.follow !== null && source.last_sha256 !== null;
}

function isWallOrError(label: string | null): boolean {
  return label !== null && /"label":"(bot_wall|error_page|rate_limit)"/.test(label);
}
