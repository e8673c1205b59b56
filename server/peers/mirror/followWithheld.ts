import { z } from 'zod';
import { releaseSchema, type Withholding, withholdingSchema } from '../../../shared/node/withheld.ts';
import { Problem } from '../../../shared/problems.ts';
import { restoreObject } from '../../fixity/damages.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import {
  absentFrom,
  deletePeerWithholding,
  followedSize,
  insertPeerWithholding,
  type PeerWithholding,
  peerById,
  peerWithholding,
  peerWithholdings,
  setFollowedSize,
} from '../../store/sqlite/node/peers.ts';
import {
  currentWithholding,
  isPack,
  isPage,
  isReleased,
  withholdingByEntry,
} from '../../store/sqlite/node/withheld.ts';
import {
  releaseDigest,
  showNow,
  subjectOf,
  type Target,
  targetOf,
  withholdingDigest,
  withholdNow,
} from '../../withholding/withholding.ts';
import { listOf, PeerError } from '../peerClient.ts';
import { coveredPages, prove } from './mirrorSources.ts';
import { asWithheld, noteOf, notGiven, refusalOf } from './mirrorTally.ts';
import { coveredItems, type Mirroring } from './remoteLog.ts';

const PAGE = 200;

const withheldList = z.object({ items: listOf(withholdingSchema) });
const releasedList = z.object({ items: listOf(releaseSchema) });

/**
 * Follows what the ledger of a peer says of bytes. What it withholds, this archive withholds too, if it holds it; what it
 * shows again is shown here, unless the owner of this archive withheld it himself; what it gave up is withheld here, and
 * the owner decides whether to release it. Everything is proven by the entries of the peer's ledger.
 *
 * @throws PeerError; the signal's reason
 */
export async function followWithheld(mirroring: Mirroring, peer: string): Promise<void> {
  const follower = new WithheldFollower(mirroring, peer);
  await follower.run();
}

/** Makes the next `followWithheld` look again, although the ledger of the peer has not grown. */
export async function followAgain({ store, log }: Mirroring, peer: string): Promise<void> {
  const size = log.size - 1;
  if (followedSize(store.read, peer) > size)
    await store.write((database) => setFollowedSize(database, { peer, size }));
}

class WithheldFollower {
  readonly #mirroring: Mirroring;
  readonly #peer: string;

  constructor(mirroring: Mirroring, peer: string) {
    this.#mirroring = mirroring;
    this.#peer = peer;
  }

  async run(): Promise<void> {
    const { store, log, tally } = this.#mirroring;
    const before = followedSize(store.read, this.#peer);
    if (before === log.size) return;
    const refusedBefore = tally.refusals;
    const current = new Map<string, number>();
    for await (const item of coveredItems(this.#mirroring, '/api/withheld', withheldList)) {
      const subject = subjectOf(targetOf(item));
      if (!current.has(subject)) current.set(subject, item.ledger_entry);
      await this.#taken(() => this.#withhold(subject, item));
    }
    for await (const item of coveredItems(this.#mirroring, '/api/released', releasedList))
      await this.#taken(() => this.#release(item));
    await this.#showAgain(before, current);
    // What was refused is looked at again.
    if (tally.refusals > refusedBefore) return;
    const size = log.size;
    await store.write((database) => setFollowedSize(database, { peer: this.#peer, size }));
  }

  async #taken(take: () => Promise<void>): Promise<void> {
    const { tally } = this.#mirroring;
    try {
      await take();
    } catch (error) {
      // What the archive does not hold any more needs nothing.
      if (error instanceof Problem && (error.code === 'released' || error.code === 'unknown_target')) return;
      tally.refuse(refusalOf(error));
    }
  }

  async #withhold(subject: string, item: Withholding): Promise<void> {
    const { store, tally, ownName } = this.#mirroring;
    const key = { peer: this.#peer, kind: 'withheld', subject } as const;
    const known = peerWithholding(store.read, key);
    // Else neither of two nodes that mirror each other could show it again: each would follow the other.
    if (item.note === noteOf(ownName, 'withheld')) {
      if (known && (await this.#show(known))) tally.shown += 1;
      return;
    }
    if (known?.entry === item.ledger_entry) return;
    await this.#mirroring.log.requireEntry(item.ledger_entry, {
      type: 'object.withheld',
      subject,
      digest: withholdingDigest(item),
    });
    const target = await this.#targetHere(item);
    if (!target) return;
    if (await this.#apply({ ...key, entry: item.ledger_entry }, target, item.reason)) tally.withheld += 1;
  }

  async #release(item: z.output<typeof releaseSchema>): Promise<void> {
    const { store, tally } = this.#mirroring;
    const { sha256, ledger_entry: entry } = item;
    const key = { peer: this.#peer, kind: 'released', subject: sha256 } as const;
    if (peerWithholding(store.read, key) || !isHeld(store.read, sha256)) return;
    const recorded = { type: 'object.released', subject: sha256, digest: releaseDigest(item) } as const;
    await this.#mirroring.log.requireEntry(entry, recorded);
    if (await this.#apply({ ...key, entry }, targetOf({ sha256 }), asWithheld(item.reason)))
      tally.released += 1;
  }

  /** Withholds something here. What the owner of this archive withholds already stays as it is. */
  #apply(
    followed: Omit<PeerWithholding, 'withholding'>,
    target: Target,
    reason: Withholding['reason'],
  ): Promise<boolean> {
    const { store, log } = this.#mirroring;
    return store.write((database) => {
      if (!peerById(database, this.#peer)) return false;
      const before = peerWithholding(database, followed);
      const current = currentWithholding(database, target);
      if (current !== undefined && current !== before?.withholding) return false;
      const given = Object.fromEntries(Object.entries(target).filter(([, value]) => value !== null));
      const note = noteOf(log.origin, followed.kind);
      const { withholding } = withholdNow(database, { ...given, reason, note }, store.instant());
      deletePeerWithholding(database, followed);
      insertPeerWithholding(database, { ...followed, withholding: withholding.ledger_entry });
      return true;
    });
  }

  /** Returns what a withholding of the peer is here; undefined if this archive does not hold it. */
  async #targetHere(item: Withholding): Promise<Target | undefined> {
    const { read } = this.#mirroring.store;
    if (item.pack !== null) return isPack(read, item.pack) ? targetOf({ pack: item.pack }) : undefined;
    if (item.page !== null) return isPage(read, item.page) ? targetOf({ page: item.page }) : undefined;
    const sha256 = item.sha256 ?? (await this.#objectOf(item.retrieval));
    return sha256 !== undefined && isHeld(read, sha256) ? targetOf({ sha256 }) : undefined;
  }

  /** Returns the object that a retrieval of the peer brought. */
  async #objectOf(id: number | null): Promise<string | undefined> {
    if (id === null) return undefined;
    for await (const [item] of coveredPages(this.#mirroring, {}, id)) {
      if (item?.retrieval.id !== id) return undefined;
      await prove(this.#mirroring, item);
      return item.retrieval.sha256 ?? undefined;
    }
    return undefined;
  }

  /** Shows what the peer shows again, once its ledger is found to say so. */
  async #showAgain(before: number, current: ReadonlyMap<string, number>): Promise<void> {
    const { store, log, tally, signal, peer } = this.#mirroring;
    const ended = new Map(
      peerWithholdings(store.read, this.#peer)
        .filter(({ subject }) => !current.has(subject))
        .map((followed) => [followed.subject, followed]),
    );
    const [absent] = absentFrom(store.read, { origin: log.origin, name: peer.name, after: '', limit: 1 });
    if (ended.size === 0 && !absent) return;
    let isShown = false;
    for (let seq = before + 1; seq <= log.size; seq += 1) {
      signal.throwIfAborted();
      const { entry } = await log.entry(seq);
      if (entry.type !== 'object.shown') continue;
      isShown = true;
      const followed = ended.get(entry.subject);
      if (followed && (await this.#show(followed))) tally.shown += 1;
    }
    if (isShown) await this.#fetchAbsent();
  }

  #show(followed: PeerWithholding): Promise<boolean> {
    const { store } = this.#mirroring;
    return store.write((database) => {
      deletePeerWithholding(database, followed);
      const made = withholdingByEntry(database, followed.withholding);
      // The owner may have shown it already, or withheld it for another reason.
      if (!made) return false;
      showNow(database, targetOf(made), store.instant());
      return true;
    });
  }

  /** Asks again for bytes that the peer did not give. */
  async #fetchAbsent(): Promise<void> {
    const { store, log, tally, signal, peer } = this.#mirroring;
    for (let after = ''; ; ) {
      const page = absentFrom(store.read, { origin: log.origin, name: peer.name, after, limit: PAGE });
      for (const { sha256 } of page) {
        signal.throwIfAborted();
        try {
          if (await this.#fetch(sha256)) tally.objects += 1;
        } catch (error) {
          if (!notGiven(error, store.instant())) tally.refuse(refusalOf(error));
        }
      }
      after = page.at(-1)?.sha256 ?? '';
      if (page.length < PAGE) return;
    }
  }

  /**
   * Fetches an object, as a file of a pack or as what was retrieved, and shows it if it was withheld because it was
   * absent.
   */
  async #fetch(sha256: string): Promise<boolean> {
    const { store, client, log, tally, peer } = this.#mirroring;
    let isHere = false;
    for (const place of ['/api/blobs/', '/archive/']) {
      if (isHere) break;
      try {
        isHere = await restoreObject(store, sha256, client.stream(`${place}${sha256}`));
      } catch (error) {
        if (!(error instanceof PeerError) || error.status !== 404) throw error;
      }
    }
    if (!isHere) return false;
    tally.bytes += blobBytes(store.read, sha256) ?? 0;
    const target = targetOf({ sha256 });
    await store.write((database) => {
      const current = currentWithholding(database, target);
      const made = current === undefined ? undefined : withholdingByEntry(database, current);
      const notes: (string | null)[] = [log.origin, peer.name].map((name) => noteOf(name, 'withheld'));
      if (made && notes.includes(made.note)) showNow(database, target, store.instant());
    });
    return true;
  }
}

function isHeld(read: ReadDatabase, sha256: string): boolean {
  return blobBytes(read, sha256) !== undefined && !isReleased(read, sha256);
}
