import pLimit from 'p-limit';
import { z } from 'zod';
import { type Pack, type PackFile, type PackRecord, recordOf } from '../../../shared/archive/pack.ts';
import { mayBeManifest } from '../../../shared/archive/set.ts';
import { REPOSITORY_KINDS, recordedDepositSchema } from '../../../shared/node/deposit.ts';
import type { PackProvenance, PackSelection } from '../../../shared/node/peer.ts';
import { digestSchema, packIdSchema } from '../../../shared/values/digest.ts';
import { addPack } from '../../archive/packs/addPack.ts';
import { type CheckedRecord, checkRecord } from '../../archive/packs/checkRecord.ts';
import { recordDeposit } from '../../archive/packs/packRows.ts';
import { depositDigest } from '../../archive/recordedSubjects.ts';
import { findSet, findSets } from '../../archive/sets/readSet.ts';
import { isDamaged, storeWithRepair } from '../../fixity/damages.ts';
import { type StagedBlob, TooManyBytesError } from '../../store/blobs/blobStore.ts';
import { countPackDeposits, packDepositAt } from '../../store/sqlite/archive/deposits.ts';
import { packById } from '../../store/sqlite/archive/packs.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import {
  alsoFrom,
  cameFromPeer,
  onlyFromOthers,
  withheldByOthers,
} from '../../store/sqlite/node/peerOrigins.ts';
import { absentAmong, insertProvenance, isAbsent, provenanceOf } from '../../store/sqlite/node/peers.ts';
import { listOf, MAX_CONNECTIONS, TooLargeError } from '../peerClient.ts';
import { isWanted, type NotGiven, noteAbsent, notGiven } from './absent.ts';
import { followAgain } from './followWithheld.ts';
import { RefusedRecordError, refusalOf } from './mirrorTally.ts';
import { References } from './references.ts';
import { coveredItems, coveredPages, type Mirroring, type Progress } from './remoteLog.ts';
import { SetLists } from './setLists.ts';

/** The largest page of packs that is read; records have up to 4 MiB. A larger page is asked for in parts. */
const MAX_PAGE_BYTES = 32 * 1_048_576;
const PAGE_SIZES = [200, 20, 1];

/** What is read of a pack before its record is checked. The rest is checked as a record. */
const listedPack = z.looseObject({ id: packIdSchema, digest: digestSchema, ledger_entry: z.int().min(1) });
type ListedPack = z.output<typeof listedPack>;
const packPage = z.object({ items: listOf(listedPack) });

/** Takes the packs of a selection, each with what it needs: its subject, its study, and the packs that it names. */
export class PackMirror {
  readonly #mirroring: Mirroring;
  readonly #references: References;
  readonly #lists: SetLists;
  readonly #atOnce = pLimit(MAX_CONNECTIONS);
  readonly #taken = new Map<string, Promise<void>>();
  #examined = 0;

  constructor(mirroring: Mirroring) {
    this.#mirroring = mirroring;
    this.#references = new References(mirroring);
    this.#lists = new SetLists(mirroring);
  }

  /**
   * Takes what the peer's ledger has of the selection beyond `before`. Returns how far it got: to the verified checkpoint
   * if nothing was refused.
   *
   * @throws PeerError; the signal's reason
   */
  async run(selection: Exclude<PackSelection, false>, before: Progress): Promise<Progress> {
    const { tally, log } = this.#mirroring;
    tally.alreadyHeld += before.held;
    if (before.size === log.size) return before;
    // At first from the oldest pack on, so that each one comes after those that it names; later from the newest back.
    const sort = before.size === 0 ? 'received' : '-received';
    const query = { sort, ...(selection === true ? {} : selection) };
    const refusedBefore = tally.refusals;
    let held = before.held;
    for await (const packs of this.#pages(query, before.size)) {
      const outcomes = await Promise.allSettled(
        packs.map((pack) => this.#atOnce(() => this.#takeListed(pack))),
      );
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
      held += outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value).length;
      if (tally.shouldStop) break;
    }
    return tally.refusals === refusedBefore ? { ...before, size: log.size, held } : before;
  }

  /** Yields the listed packs after entry `after` that the checkpoint covers, a page at a time. */
  #pages(query: Record<string, string>, after: number): AsyncGenerator<ListedPack[]> {
    const entry = ({ ledger_entry }: ListedPack) => ledger_entry;
    return coveredPages(this.#mirroring, {
      read: async (offset: number) => {
        const { items, limit } = await this.#page(query, offset);
        return { items, next: items.length < limit ? null : offset + items.length };
      },
      first: 0,
      order: query.sort === 'received' ? 'oldest' : 'newest',
      place: entry,
      entry,
      after,
    });
  }

  async #page(
    query: Record<string, string>,
    offset: number,
  ): Promise<{ items: ListedPack[]; limit: number }> {
    for (const limit of PAGE_SIZES) {
      const parameters = new URLSearchParams({ ...query, limit: String(limit), offset: String(offset) });
      try {
        const { items } = await this.#mirroring.client.json(
          `/api/packs?${parameters.toString()}`,
          packPage,
          MAX_PAGE_BYTES,
        );
        return { items: items.slice(0, limit), limit };
      } catch (error) {
        if (!(error instanceof TooLargeError) || limit === 1) throw error;
      }
    }
    throw new Error('The last page size is 1.');
  }

  /** Mirrors one pack. Returns whether it is held now. Refusals are counted. */
  async #takeListed(pack: ListedPack): Promise<boolean> {
    const { tally, signal, progress } = this.#mirroring;
    signal.throwIfAborted();
    if (tally.shouldStop) return false;
    try {
      if (this.#isHeld(pack)) await this.#alsoFrom(pack);
      else await this.#takeOnce(pack.id, () => Promise.resolve(pack));
      return true;
    } catch (error) {
      tally.refuse(refusalOf(error));
      return false;
    } finally {
      progress((this.#examined += 1));
    }
  }

  #isHeld({ id, digest }: Pick<ListedPack, 'id' | 'digest'>): boolean {
    const { store } = this.#mirroring;
    return packById(store.read, id)?.digest === digest;
  }

  /**
   * Looks at a pack that is here already. If it came from another peer, this one has it too, so what that peer says is no
   * longer the only word. Files whose bytes are not here, or are withheld because of that peer, are asked for.
   */
  async #alsoFrom(pack: ListedPack): Promise<void> {
    const { store, tally, log, origin } = this.#mirroring;
    tally.alreadyHeld += 1;
    const record = recordOf(pack as unknown as Pack);
    const checked = checkRecord(record);
    if (checked.id !== pack.id || checked.digest !== pack.digest)
      throw new RefusedRecordError('wrong_record');
    const digests = JSON.stringify(checked.record.files.map(({ sha256 }) => sha256));
    const ofOthers = onlyFromOthers(store.read, { digests, origin });
    const isComplete =
      ofOthers.length === 0 &&
      absentAmong(store.read, JSON.parse(digests) as string[]).length === 0 &&
      withheldByOthers(store.read, { digests, origin }).length === 0;
    if (isComplete) return;
    const { id: subject, digest } = checked;
    await log.requireEntry(pack.ledger_entry, { type: 'pack.added', subject, digest });
    const files = await fetchPackFiles(this.#mirroring, checked.record.files);
    const blobs = new Set(files.staged.values());
    try {
      for (const blob of blobs) await storeWithRepair(store, blob);
      await store.write((database) => {
        for (const sha256 of ofOthers) alsoFrom(database, sha256, origin);
        for (const { sha256 } of blobs) cameFromPeer(database, { sha256, peer: this.#mirroring.peer.id });
        for (const [sha256, why] of files.absent)
          noteAbsent(database, this.#mirroring, { sha256, why }, store.instant());
      });
    } finally {
      await Promise.all([...blobs].map((blob) => blob.discard()));
    }
    tally.objects += files.objects;
    tally.bytes += files.bytes;
  }

  #takeOnce(id: string, read: () => Promise<ListedPack>): Promise<void> {
    let taking = this.#taken.get(id);
    if (!taking) {
      taking = read().then((pack) => this.#take(pack));
      this.#taken.set(id, taking);
      taking.catch(() => undefined);
    }
    return taking;
  }

  /** Proves that the ledger of the peer has the record, takes what it needs, then its files, and adds it. */
  async #take(pack: ListedPack): Promise<void> {
    const { log } = this.#mirroring;
    const checked = checkRecord(recordOf(pack as unknown as Pack));
    if (pack.id !== checked.id) throw new RefusedRecordError('wrong_record');
    const { id: subject, digest } = checked;
    const recorded = { type: 'pack.added', subject, digest } as const;
    const { entry, proof } = await log.requireEntry(pack.ledger_entry, recorded);
    await this.#takeReferences(checked.record);
    await this.#takeParts(checked.record);
    const provenance = { entry, proof, checkpoint: log.note, ...this.#mirroring.provenance() };
    await this.#add(checked, provenance);
  }

  async #takeReferences({ node, study, replicates, supersedes }: PackRecord): Promise<void> {
    const { store } = this.#mirroring;
    if (node !== null) await this.#references.needNode(node);
    if (study !== null) await this.#references.needStudy(study);
    for (const id of [replicates?.pack, supersedes]) {
      if (!id || packById(store.read, id)) continue;
      await this.#takeOnce(id, () => this.#readPack(id)).catch((error: unknown) => {
        throw new RefusedRecordError(refusalOf(error) === 'no_room' ? 'no_room' : 'missing_reference', error);
      });
    }
  }

  /** Takes the parts of a set before its manifest, which is only taken if they are here. */
  async #takeParts(record: PackRecord): Promise<void> {
    const [file] = record.files;
    if (!file || !mayBeManifest(record)) return;
    const { store, signal } = this.#mirroring;
    const missing = (await this.#lists.packsOf(file)).filter((id) => !packById(store.read, id));
    const atOnce = pLimit(MAX_CONNECTIONS);
    const take = async (id: string) => {
      signal.throwIfAborted();
      await this.#takeOnce(id, () => this.#readPack(id));
    };
    const outcomes = await Promise.allSettled(missing.map((id) => atOnce(() => take(id))));
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') continue;
      const { reason } = outcome as { reason: unknown };
      throw new RefusedRecordError(refusalOf(reason) === 'no_room' ? 'no_room' : 'missing_reference', reason);
    }
  }

  /** Takes the parts of sets whose lists the peer did not give when their manifests were taken. */
  async completeSets(): Promise<void> {
    const { store, tally, signal, provenance } = this.#mirroring;
    const { key } = provenance().peer;
    // A list that cannot be read now is looked at again by the next mirror.
    for await (const { pack, index } of findSets(store, () => undefined)) {
      if (index.packs.every((id) => packById(store.read, id))) continue;
      const origin = provenanceOf(store.read, pack.ledger_entry) as PackProvenance | undefined;
      if (origin?.peer.key !== key) continue;
      // Its parts are older than what was followed.
      await followAgain(this.#mirroring);
      const isTaken = await this.#lists.check(index).then(
        () => true,
        (error: unknown) => tally.refuse(refusalOf(error)),
      );
      if (!isTaken) continue;
      for (const id of index.packs) {
        signal.throwIfAborted();
        if (tally.shouldStop) return;
        if (packById(store.read, id)) continue;
        await this.#takeOnce(id, () => this.#readPack(id)).catch((error: unknown) =>
          tally.refuse(refusalOf(error)),
        );
      }
      await findSet(store, pack.id);
    }
  }

  #readPack(id: string): Promise<ListedPack> {
    return this.#mirroring.client.json(`/api/packs/${id}`, listedPack, MAX_PAGE_BYTES);
  }

  async #add(checked: CheckedRecord, provenance: PackProvenance): Promise<void> {
    const { store, tally } = this.#mirroring;
    const files = await fetchPackFiles(this.#mirroring, checked.record.files);
    let reserved = 0;
    try {
      const { created } = await addPack(store, {
        checked,
        staged: files.staged,
        from: this.#mirroring.origin,
        isPartial: true,
        absent: files.unavailable,
        reserveSpace: async (bytes) => {
          await this.#mirroring.reserveSpace(bytes);
          reserved = bytes;
        },
        onRecorded: (database, seq) => {
          insertProvenance(database, seq, provenance);
          const digests = checked.record.files.map(({ sha256 }) => sha256);
          this.#lists.tie(database, digests);
          for (const [sha256, why] of files.absent)
            noteAbsent(database, this.#mirroring, { sha256, why }, store.instant());
          for (const { sha256 } of new Set(files.staged.values()))
            cameFromPeer(database, { sha256, peer: this.#mirroring.peer.id });
        },
      });
      tally.objects += files.objects;
      tally.bytes += files.bytes;
      if (created) tally.notGiven += files.absent.size;
      if (created) tally.packs += 1;
      else tally.alreadyHeld += 1;
    } finally {
      this.#mirroring.releaseSpace(reserved);
    }
  }
}

/** Files of one pack at once. */
const FILES_AT_ONCE = 4;

interface FetchedFiles {
  /** The files that the archive did not have, by path. */
  staged: Map<string, StagedBlob>;
  /** The objects that the peer withholds or released, by digest. */
  absent: Map<string, NotGiven>;
  /** These, and those that are known to be withheld or released from before. */
  unavailable: Set<string>;
  objects: number;
  bytes: number;
}

/**
 * Fetches the files of a pack that the archive does not hold intact. Each byte is hashed while it arrives. If one has
 * another digest or size, all of them are discarded.
 *
 * @throws RefusedRecordError `wrong_bytes`; PeerError
 */
async function fetchPackFiles(mirroring: Mirroring, files: readonly PackFile[]): Promise<FetchedFiles> {
  const { read } = mirroring.store;
  const isHere = ({ sha256, bytes }: PackFile) =>
    blobBytes(read, sha256) === bytes && !isDamaged(read, sha256) && !isAbsent(read, sha256);
  const missing = files.filter((file) => isWanted(mirroring, file.sha256, isHere(file)));
  const isNew = new Set(missing.filter((file) => !isHere(file)).map(({ sha256 }) => sha256));
  const byDigest = Map.groupBy(missing, ({ sha256 }) => sha256);
  const atOnce = pLimit(FILES_AT_ONCE);
  const staged = new Map<string, StagedBlob>();
  const absent = new Map<string, NotGiven>();
  const fetches = [...byDigest].map(([sha256, [file, ...others]]) =>
    atOnce(async () => {
      if (!file) return;
      const blob = await fetchObject(mirroring, sha256, file.bytes).catch((error: unknown) => {
        const why = notGiven(error, mirroring.store.instant());
        if (!why) throw error;
        absent.set(sha256, why);
      });
      if (!blob) return;
      for (const { path } of [file, ...others]) staged.set(path, blob);
    }),
  );
  const outcomes = await Promise.allSettled(fetches);
  const failed = outcomes.find(({ status }) => status === 'rejected');
  const blobs = new Set(staged.values());
  if (failed?.status === 'rejected') {
    await Promise.all([...blobs].map((blob) => blob.discard()));
    throw failed.reason;
  }
  const known = files
    .map(({ sha256 }) => sha256)
    .filter((sha256) => isAbsent(read, sha256) && !byDigest.has(sha256));
  const added = [...blobs].filter(({ sha256 }) => isNew.has(sha256));
  return {
    staged,
    absent,
    unavailable: new Set([...absent.keys(), ...known]),
    objects: added.length,
    bytes: added.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Fetches one object into staging. @throws RefusedRecordError `wrong_bytes`; PeerError */
async function fetchObject(
  { store, client, signal }: Pick<Mirroring, 'store' | 'client' | 'signal'>,
  sha256: string,
  bytes: number,
): Promise<StagedBlob> {
  signal.throwIfAborted();
  let staged: StagedBlob;
  try {
    staged = await store.blobs.staging.stage(client.stream(`/api/blobs/${sha256}`), bytes);
  } catch (error) {
    if (error instanceof TooManyBytesError) throw new RefusedRecordError('wrong_bytes', error);
    throw error;
  }
  if (staged.sha256 === sha256 && staged.bytes === bytes) return staged;
  await staged.discard();
  throw new RefusedRecordError('wrong_bytes');
}

const listedDeposit = z.looseObject({ ledger_entry: z.int().min(1), repository: z.string() });
type ListedDeposit = z.output<typeof listedDeposit>;
const depositList = z.object({ items: listOf(listedDeposit) });
const depositOf = z.object(recordedDepositSchema.shape);
const KINDS: ReadonlySet<string> = new Set(REPOSITORY_KINDS);
/** Each is an entry that stays for good and is shown with the pack, so a peer cannot add any number. */
const MAX_OF_PACK = 20;

/**
 * Takes where the peer's ledger says that packs were published, of the packs that came from this ledger: what a peer says of
 * other packs would be cited here without any reason to believe it.
 *
 * @throws PeerError; the signal's reason
 */
export async function followDeposits(mirroring: Mirroring): Promise<void> {
  const { tally } = mirroring;
  for await (const item of coveredItems(mirroring, '/api/deposits', depositList)) {
    if (tally.shouldStop) return;
    try {
      if (await takeDeposit(mirroring, item)) tally.deposits += 1;
    } catch (error) {
      tally.refuse(refusalOf(error));
    }
  }
}

/** Returns whether the deposit is new here. @throws RefusedRecordError; PeerError */
async function takeDeposit(mirroring: Mirroring, listed: ListedDeposit): Promise<boolean> {
  const { store, log } = mirroring;
  // A peer of a later version knows more kinds.
  if (!KINDS.has(listed.repository)) return false;
  const { data: deposit } = depositOf.safeParse(listed);
  if (!deposit) throw new RefusedRecordError('wrong_record');
  const pack = packById(store.read, deposit.pack);
  if (!pack || packDepositAt(store.read, pack.id, deposit.url) !== undefined) return false;
  const origin = provenanceOf(store.read, pack.ledger_entry) as PackProvenance | undefined;
  if (!origin || origin.entry.seq > log.size) return false;
  // The keys may differ: the peer may have renewed its key since.
  const { entry: ofPack } = await log.entry(origin.entry.seq);
  if (ofPack.hash !== origin.entry.hash) return false;
  if (countPackDeposits(store.read, pack.id) >= MAX_OF_PACK) throw new RefusedRecordError('too_large');
  const { entry, proof } = await log.requireEntry(listed.ledger_entry, {
    type: 'pack.deposited',
    subject: deposit.pack,
    digest: depositDigest(deposit),
  });
  const provenance = { entry, proof, checkpoint: log.note, ...mirroring.provenance() };
  return store.write((database) => {
    const { entry: seq, isNew } = recordDeposit(database, deposit, store.instant());
    if (isNew) insertProvenance(database, seq, provenance);
    return isNew;
  });
}
