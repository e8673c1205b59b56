import { createHash } from 'node:crypto';
import { z } from 'zod';
import { MEGABYTE } from '../../../shared/limits.ts';
import { releaseSchema, type Withholding, withholdingSchema } from '../../../shared/node/withheld.ts';
import { Problem } from '../../../shared/problems.ts';
import { restoreObject } from '../../fixity/damages.ts';
import type { ReadDatabase, WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import { coveredBy } from '../../store/sqlite/node/covered.ts';
import {
  areOnlyFrom,
  cameFromPeer,
  countOpenProposals,
  deletePeerWord,
  deleteProposal,
  isOnlyFrom,
  isPeerWord,
  onlyFrom,
  type ProposalRow,
  proposalOf,
  proposalsWithin,
  proposedWithholdings,
  putProposal,
  subjectAround,
  subjectWithin,
} from '../../store/sqlite/node/peerOrigins.ts';
import {
  absentFrom,
  deletePeerWithholding,
  followedSize,
  insertPeerWithholding,
  type PeerWithholding,
  peerById,
  peersOfWithholding,
  peerWithholdings,
  setFollowedSize,
  withholdingsFor,
  withholdingsWithin,
} from '../../store/sqlite/node/peers.ts';
import { currentWithholding, withholdingByEntry } from '../../store/sqlite/node/withheld.ts';
import { withholdForPeer } from '../../withholding/peerWords.ts';
import {
  releaseDigest,
  showNow,
  subjectOf,
  type Target,
  targetOf,
  withholdingDigest,
} from '../../withholding/withholding.ts';
import { listOf, PeerError, shownLine } from '../peerClient.ts';
import { asWithheld, listedNote, noteOf, notGiven } from './absent.ts';
import { refusalOf } from './mirrorTally.ts';
import { coveredItems, type Mirroring } from './remoteLog.ts';
import { isHeld, objectsHere, targetHere } from './withheldHere.ts';

const PAGE = 200;
const MAX_NOTE = 500;
/** Where a node gives the bytes of an object: of a file of a pack, and of what was retrieved. */
const PLACES = ['/api/blobs/', '/archive/'];

const withheldList = z.object({ items: listOf(withholdingSchema) });
const releasedList = z.object({ items: listOf(releaseSchema) });

/** A subject of a peer's ledger, and what the peer does with it. */
type Key = Pick<PeerWithholding, 'peer' | 'kind' | 'subject'>;

/** What a peer does with something, as its ledger proves. */
type Said = Pick<ProposalRow, 'kind' | 'subject' | 'entry' | 'reason' | 'note' | 'at'>;

/**
 * Follows what the ledger of a peer says of bytes that came from that peer and from nowhere else. What it withholds, this
 * archive withholds too; what it shows again is shown here, unless the owner of this archive withheld it himself; what it
 * gave up is withheld here, and the owner decides whether to release it. What it says of bytes that this archive has
 * otherwise becomes a proposal to the owner. Everything is proven by the entries of the peer's ledger.
 *
 * @throws PeerError; PeerLimitError; the signal's reason
 */
export async function followWithheld(mirroring: Mirroring): Promise<void> {
  const follower = new WithheldFollower(mirroring);
  await follower.run();
}

/**
 * Shows what was withheld only because a list of the peer named it, once that list does not name it any more.
 *
 * @throws like `followWithheld`
 */
export async function showUnlisted(mirroring: Mirroring): Promise<void> {
  const follower = new WithheldFollower(mirroring);
  await follower.showUnlisted();
}

/** Makes the next `followWithheld` look again, although the ledger of the peer has not grown. */
export async function followAgain({ store, log, peer }: Mirroring): Promise<void> {
  const size = log.size - 1;
  if (followedSize(store.read, peer.id) > size)
    await store.write((database) => setFollowedSize(database, { peer: peer.id, size }));
}

class WithheldFollower {
  readonly #mirroring: Mirroring;
  readonly #peer: string;
  /** Whether something is left for the next run. */
  #isLeft = false;

  constructor(mirroring: Mirroring) {
    this.#mirroring = mirroring;
    this.#peer = mirroring.peer.id;
  }

  async run(): Promise<void> {
    const { store, log, tally } = this.#mirroring;
    const before = followedSize(store.read, this.#peer);
    if (before === log.size) return;
    const refusedBefore = tally.refusals;
    const current = new Map<string, number>();
    for await (const item of coveredItems(this.#mirroring, '/api/withheld', withheldList)) {
      const subject = subjectOf(targetOf(item));
      if (current.has(subject)) continue;
      current.set(subject, item.ledger_entry);
      await this.#taken(() => this.#withhold(subject, item, before));
    }
    for await (const item of coveredItems(this.#mirroring, '/api/released', releasedList))
      await this.#taken(() => this.#release(item));
    await this.#showAgain(before, current);
    // What was refused, or is beyond a limit, is looked at again.
    if (tally.refusals > refusedBefore || this.#isLeft) return;
    const size = log.size;
    await store.write((database) => setFollowedSize(database, { peer: this.#peer, size }));
  }

  async #taken(take: () => Promise<void>): Promise<void> {
    const { tally } = this.#mirroring;
    if (tally.shouldStop) return;
    try {
      await take();
    } catch (error) {
      // What the archive does not hold any more needs nothing.
      if (error instanceof Problem && (error.code === 'released' || error.code === 'unknown_target')) return;
      tally.refuse(refusalOf(error));
    }
  }

  /** Whether this run may withhold or show something more. */
  #mayChange(): boolean {
    const { limits, tally } = this.#mirroring;
    if (tally.standings < limits.withholdings) return true;
    this.#isLeft = true;
    tally.reached(
      `The peer withholds or shows more than ${limits.withholdings} things in one run. The next one goes on.`,
    );
    return false;
  }

  async #withhold(subject: string, item: Withholding, before: number): Promise<void> {
    const { store, tally, ownName } = this.#mirroring;
    const key = { peer: this.#peer, kind: 'withheld', subject } as const;
    const known = withholdingsWithin(store.read, key);
    const isOurs = [noteOf(ownName, 'withheld'), listedNote(ownName)].includes(item.note ?? '');
    const isKnown = known.some((each) => each.subject === subject && each.entry === item.ledger_entry);
    const proposed = proposalOf(store.read, key);
    if (isKnown && !isOurs) return;
    if (proposed && (proposed.decision !== null || proposed.entry === item.ledger_entry)) return;
    await this.#mirroring.log.requireEntry(item.ledger_entry, {
      type: 'object.withheld',
      subject,
      digest: withholdingDigest(item),
    });
    // Else neither of two nodes that mirror each other could show it again: each would follow the other.
    if (isOurs) {
      if (known.length > 0) await this.#show(subject, item);
      return;
    }
    const { reason, note, at, ledger_entry: entry } = item;
    const target = await targetHere(this.#mirroring, item);
    // An older entry of something that is not here was handled when it was new. The peer has given nothing of it since.
    // What the peer withholds may have come since.
    const isListRead = known.some((each) => each.entry === entry);
    const listed = (target || entry > before) && !isListRead ? await this.#listed(entry, target) : [];
    if (!target && listed.length === 0) return;
    const isDone = await this.#apply({ ...key, entry, reason, note, at }, target, listed);
    if (isDone && !isListRead) tally.withheld += 1;
  }

  async #release(item: z.output<typeof releaseSchema>): Promise<void> {
    const { store, tally } = this.#mirroring;
    const { sha256, ledger_entry: entry, note, at } = item;
    const key = { peer: this.#peer, kind: 'released', subject: sha256 } as const;
    const isKnown = withholdingsFor(store.read, key).length > 0 || proposalOf(store.read, key);
    if (isKnown || !isHeld(store.read, sha256)) return;
    const recorded = { type: 'object.released', subject: sha256, digest: releaseDigest(item) } as const;
    await this.#mirroring.log.requireEntry(entry, recorded);
    const said = { ...key, entry, reason: asWithheld(item.reason), note, at };
    if (await this.#apply(said, targetOf({ sha256 }))) tally.released += 1;
  }

  /**
   * Withholds what came from the peer alone, and proposes the rest. What the owner of this archive withholds already stays as
   * it is. Returns whether something is withheld.
   *
   * @param target what the peer withholds, if it is here
   * @param listed what only the list of the peer says that it covers
   */
  #apply(said: Said, target: Target | undefined, listed: readonly string[] = []): Promise<boolean> {
    const { store, log, origin } = this.#mirroring;
    const key: Key = { peer: this.#peer, kind: said.kind as Key['kind'], subject: said.subject };
    if (!this.#mayChange()) return Promise.resolve(false);
    return store.write((database) => {
      if (!peerById(database, this.#peer)) return false;
      const before = withholdingsFor(database, key);
      const word = { reason: said.reason, note: noteOf(log.origin, key.kind), origin };
      const made = new Set<number>();
      const done = new Set<string>();
      /** Withholds an object that came from the peer alone, or a pack or a page if that is true of all that it covers. */
      const withhold = (each: Target): boolean => {
        const covers = coveredBy(database, each);
        if (!areOnlyFrom(database, each.sha256 === null ? covers : [each.sha256], origin)) return false;
        const entry =
          keptByOther(database, each, key) ??
          withholdForPeer(database, { target: each, ...word }, store.instant(), before);
        if (entry === undefined) return true;
        made.add(entry);
        for (const sha256 of covers) done.add(sha256);
        return true;
      };
      const covers = target ? coveredBy(database, target) : [];
      if (target && this.#isOwners(database, target, key)) for (const sha256 of covers) done.add(sha256);
      else if (target && !withhold(target)) this.#propose(database, said, target);
      // What it has in common with others is for the owner to decide. The rest is withheld object by object.
      for (const sha256 of onlyFrom(database, { digests: JSON.stringify(covers), origin }))
        if (!done.has(sha256)) withhold(targetOf({ sha256 }));
      let count = made.size;
      for (const sha256 of onlyFrom(database, { digests: JSON.stringify(listed), origin }))
        if (!done.has(sha256) && this.#withholdListed(database, said, sha256)) count += 1;
      if (!target) this.#proposeObjects(database, said, listed);
      if (made.size > 0) follow(database, { ...key, entry: said.entry }, made);
      this.#mirroring.tally.standings += count;
      return count > 0;
    });
  }

  /** Withholds what only the list of the peer names, under a subject of its own, so that it ends when the list does not. */
  #withholdListed(database: WriteDatabase, { subject, entry, reason }: Said, sha256: string): boolean {
    const { store, log, origin } = this.#mirroring;
    const key: Key = { peer: this.#peer, kind: 'withheld', subject: subjectWithin(subject, sha256) };
    const target = targetOf({ sha256 });
    const word = { target, reason, note: listedNote(log.origin), origin };
    const made =
      keptByOther(database, target, key) ??
      withholdForPeer(database, word, store.instant(), withholdingsFor(database, key));
    if (made === undefined) return false;
    follow(database, { ...key, entry }, new Set([made]));
    return true;
  }

  /**
   * Returns what the list of the peer says that a withholding covers, and what is here, without what the withheld thing covers by
   * records that are here. No entry proves the list, and anybody on the way can alter it. So what it names is not withheld if
   * the peer gives it to visitors.
   */
  async #listed(entry: number, target: Target | undefined): Promise<string[]> {
    const { store, origin } = this.#mirroring;
    const proven = new Set(target ? coveredBy(store.read, target) : []);
    const listed: string[] = [];
    for (const sha256 of await objectsHere(this.#mirroring, entry)) {
      const isOfUse = !proven.has(sha256) && (!target || isOnlyFrom(store.read, { sha256, origin }));
      if (isOfUse && !(await this.#isGiven(sha256))) listed.push(sha256);
    }
    return listed;
  }

  /** Shows what no list of the peer names any more. That the list is shorter is not enough: the peer must give the bytes. */
  async showUnlisted(): Promise<void> {
    const { read } = this.#mirroring.store;
    const listed = peerWithholdings(read, this.#peer).filter(
      ({ subject, withholding }) => subject !== subjectAround(subject) && isPeerWord(read, withholding),
    );
    for (const [entry, rows] of Map.groupBy(listed, (row) => row.entry))
      await this.#taken(async () => {
        const named = new Set(await objectsHere(this.#mirroring, entry));
        for (const { subject, withholding } of rows) {
          const sha256 = withholdingByEntry(read, withholding)?.sha256;
          if (!sha256 || named.has(sha256) || !(await this.#isGiven(sha256))) continue;
          await this.#show(subject, { ledger_entry: entry, at: this.#mirroring.store.instant() });
        }
      });
  }

  /** Whether the peer gives the bytes of an object to visitors. Who does not have them cannot pretend it. */
  async #isGiven(sha256: string): Promise<boolean> {
    const { store, client, maxObjectMb, signal } = this.#mirroring;
    const most = blobBytes(store.read, sha256) ?? maxObjectMb * MEGABYTE;
    for (const place of PLACES) {
      signal.throwIfAborted();
      const sent = createHash('sha256');
      let bytes = 0;
      try {
        for await (const chunk of client.stream(`${place}${sha256}`)) {
          bytes += chunk.length;
          if (bytes > most) return false;
          sent.update(chunk);
        }
      } catch (error) {
        if (!(error instanceof PeerError) || error.kind === 'unreachable') throw error;
        if (error.status === 404) continue;
        return false;
      }
      return sent.digest('hex') === sha256;
    }
    return false;
  }

  /** Whether this archive withholds a target for another reason than what this peer said before. */
  #isOwners(database: ReadDatabase, target: Target, { kind, subject }: Key): boolean {
    const current = currentWithholding(database, target);
    if (current === undefined || keptByOther(database, target, { kind, subject, peer: this.#peer }))
      return false;
    const before = withholdingsFor(database, { peer: this.#peer, kind, subject });
    return !before.some(({ withholding }) => withholding === current);
  }

  /** Proposes objects that the peer withholds with something that is not here. */
  #proposeObjects(database: WriteDatabase, said: Said, objects: readonly string[]): void {
    const { origin } = this.#mirroring;
    const theirs = new Set(onlyFrom(database, { digests: JSON.stringify(objects), origin }));
    for (const sha256 of objects) {
      const target = targetOf({ sha256 });
      if (theirs.has(sha256) || currentWithholding(database, target) !== undefined) continue;
      this.#propose(database, { ...said, subject: subjectWithin(said.subject, sha256) }, target);
    }
  }

  /** Leaves to the owner what a peer says, unless too much is left to him already. */
  #propose(database: WriteDatabase, said: Said, target: Target, withholding: number | null = null): void {
    const { store, tally, limits } = this.#mirroring;
    const isKnown = proposalOf(database, { peer: this.#peer, kind: said.kind, subject: said.subject });
    if (!isKnown && countOpenProposals(database, this.#peer) >= limits.proposals) {
      this.#isLeft = true;
      tally.reached(
        `More than ${limits.proposals} proposals of this peer wait for you. Decide them, and the next run shows more.`,
      );
      return;
    }
    const note = said.note === null ? null : shownLine(MAX_NOTE).parse(said.note);
    const { sha256, pack, page } = target;
    const proposed_at = store.instant();
    putProposal(database, { ...said, peer: this.#peer, note, sha256, pack, page, withholding, proposed_at });
    if (!isKnown) tally.proposed += 1;
  }

  /** Shows what the peer shows again, once its ledger is found to say so. */
  async #showAgain(before: number, current: ReadonlyMap<string, number>): Promise<void> {
    const { store, log, signal, peer } = this.#mirroring;
    const followed = [
      ...peerWithholdings(store.read, this.#peer),
      ...proposedWithholdings(store.read, this.#peer),
    ];
    const subjects = followed.map(({ subject }) => subjectAround(subject));
    const ended = new Set(subjects.filter((subject) => !current.has(subject)));
    const [absent] = absentFrom(store.read, { origin: log.origin, name: peer.name, after: '', limit: 1 });
    if (ended.size === 0 && !absent) return;
    let isShown = false;
    for (let seq = before + 1; seq <= log.size; seq += 1) {
      signal.throwIfAborted();
      const { entry } = await log.entry(seq);
      if (entry.type !== 'object.shown') continue;
      isShown = true;
      if (!ended.has(entry.subject)) continue;
      await this.#show(entry.subject, { ledger_entry: seq, at: entry.at });
    }
    if (isShown) await this.#fetchAbsent();
  }

  /**
   * Ends what this archive withholds because of the peer. What the owner withholds, also because he took a proposal, is
   * proposed to be shown. A proposal that he did not decide is gone.
   */
  async #show(
    subject: string,
    { ledger_entry: entry, at }: { ledger_entry: number; at: string },
  ): Promise<void> {
    const { store, tally } = this.#mirroring;
    if (!this.#mayChange()) return;
    const key = { peer: this.#peer, kind: 'withheld', subject } as const;
    const shown = await store.write((database) => {
      const followed = withholdingsWithin(database, key);
      for (const each of followed) deletePeerWithholding(database, each);
      for (const proposal of proposalsWithin(database, key)) {
        deleteProposal(database, proposal);
        const taken = proposal.decision === 'take' ? proposal.withholding : null;
        const made = taken === null ? undefined : withholdingByEntry(database, taken);
        if (!made) continue;
        const said = {
          kind: 'shown',
          subject: proposal.subject,
          entry,
          reason: made.reason,
          note: null,
          at,
        } as const;
        this.#propose(database, said, targetOf(made), made.ledger_entry);
      }
      let ended = 0;
      for (const { withholding } of followed) {
        const inForce = withholdingByEntry(database, withholding);
        // The owner may have shown it already, or withheld it for another reason.
        if (!inForce || !isPeerWord(database, withholding)) continue;
        // The peer withholds it with something else, too.
        if (peersOfWithholding(database, withholding).length > 0) continue;
        deletePeerWord(database, withholding);
        showNow(database, targetOf(inForce), store.instant());
        ended += 1;
      }
      return ended;
    });
    tally.standings += shown;
    if (shown > 0) tally.shown += 1;
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
    const { store, client, tally } = this.#mirroring;
    let isHere = false;
    for (const place of PLACES) {
      if (isHere) break;
      try {
        isHere = await restoreObject(store, sha256, client.stream(`${place}${sha256}`));
      } catch (error) {
        if (!(error instanceof PeerError) || error.status !== 404) throw error;
      }
    }
    if (!isHere) return false;
    tally.bytes += blobBytes(store.read, sha256) ?? 0;
    await store.write((database) => cameFromPeer(database, { sha256, peer: this.#peer }));
    return true;
  }
}

/** Records which withholdings of this archive follow an entry of a peer, with those that did before and are in force. */
function follow(
  database: WriteDatabase,
  followed: Omit<PeerWithholding, 'withholding'>,
  made: Set<number>,
): void {
  for (const { withholding } of withholdingsFor(database, followed))
    if (withholdingByEntry(database, withholding)) made.add(withholding);
  deletePeerWithholding(database, followed);
  for (const withholding of made) insertPeerWithholding(database, { ...followed, withholding });
}

/** Returns the withholding of a target that something else keeps in force that this peer withholds. */
function keptByOther(
  database: ReadDatabase,
  target: Target,
  { peer, kind, subject }: Key,
): number | undefined {
  const current = currentWithholding(database, target);
  if (current === undefined) return undefined;
  const isOther = (each: PeerWithholding) =>
    each.peer === peer && (each.kind !== kind || each.subject !== subject);
  return peersOfWithholding(database, current).some(isOther) ? current : undefined;
}
