import { hash } from 'node:crypto';
import type { CopySync } from '../../shared/node/copy.ts';
import { tilePath } from '../../shared/proof/ledger/tree.ts';
import { auditObjects } from '../fixity/audit.ts';
import { isDamaged } from '../fixity/damages.ts';
import { readTile } from '../ledger/tree.ts';
import { lastCoveredBy } from '../store/sqlite/collection/retrievalBatches.ts';
import { firstRetrievalOf } from '../store/sqlite/collection/retrievals.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import { forgetCopiedFiles, setSendingSize } from '../store/sqlite/node/copiedFiles.ts';
import {
  blobsNotCopied,
  type CopyRow,
  copiedObjectsAfter,
  copyById,
  forgetCopiedObjects,
  insertCopiedObjects,
  isAnyLeftOut,
  isCopied,
  leaveOut,
  setPagesSize,
  setSynced,
} from '../store/sqlite/node/copies.ts';
import { lastEntry, proofsState } from '../store/sqlite/node/ledger.ts';
import { isAbsent } from '../store/sqlite/node/peers.ts';
import { releaseOf } from '../store/sqlite/node/withheld.ts';
import { assertOwnedByThisNode, type CopiedCheckpoint, type CopyServices, claimBytes } from './claim.ts';
import { CopyFiles, type SyncedCopy } from './copyFiles.ts';
import {
  CHECKPOINT,
  CLAIM,
  KEY,
  metadataPath,
  newTiles,
  OBJECTS,
  RECORDS_PER_FILE,
  recordsFiles,
  statePath,
} from './copyPaths.ts';
import { adoptEncrypted, giveUpEncrypted } from './earlierEncrypted.ts';
import { pagesAreBehind, sendPages } from './pages/makePages.ts';
import { INDEX, PAGES_VERSION } from './pages/pagePaths.ts';
import { type CopiedState, readRecords, readState } from './records.ts';
import { inBatches, metadataOf, sendObjects } from './sendObjects.ts';
import { CopyError, type CopyTarget, type Payload } from './targets/target.ts';
import { type Cleaned, isOpenToReaders, NOTHING_CLEANED, WithheldObjects } from './withheldObjects.ts';

/** The objects that are sent before they are brought to stable storage together and counted as copied. */
const BATCH = { objects: 1_000, bytes: 536_870_912 };

interface SyncRun {
  signal: AbortSignal;
  /** Called with the bytes of objects sent so far; the total is not known. */
  progress: (done: number, total: null) => void;
}

/**
 * Brings a copy up to date. Only what is new is sent, in the order objects, records, state, tiles, pages, list of all files,
 * checkpoint, so that a copy is never ahead of its contents. After a crash the next sync goes on: what is sent twice is the
 * same.
 *
 * @throws CopyError; the signal's reason
 */
export async function syncCopy(
  services: CopyServices,
  copy: CopyRow,
  target: CopyTarget,
  run: SyncRun,
): Promise<CopySync> {
  const sync = new Sync(services, copy, target, run);
  return sync.run();
}

type SyncedState = Pick<CopiedState, 'size' | 'note' | 'proofs'> & { sha256: string | null };

class Sync {
  readonly #services: CopyServices;
  #copy: CopyRow;
  readonly #target: CopyTarget;
  readonly #run: SyncRun;
  readonly #files: CopyFiles;
  #withheld: WithheldObjects;
  #objects = 0;
  #bytes = 0;
  #records = 0;
  #pages: number | undefined;
  #foundDamage = false;
  #cleaned: Cleaned = NOTHING_CLEANED;

  constructor(services: CopyServices, copy: CopyRow, target: CopyTarget, run: SyncRun) {
    this.#services = services;
    this.#copy = copy;
    this.#target = target;
    this.#run = run;
    this.#files = new CopyFiles(services, copy.id, target, run.signal);
    this.#withheld = new WithheldObjects(this.#synced);
  }

  get #synced(): SyncedCopy {
    const { signal } = this.#run;
    return {
      services: this.#services,
      copy: this.#copy,
      target: this.#target,
      files: this.#files,
      signal,
    };
  }

  async run(): Promise<CopySync> {
    const { store } = this.#services;
    const before = await assertOwnedByThisNode(this.#services, this.#copy, this.#target);
    await this.#matchRows(before);
    this.#withheld = new WithheldObjects(this.#synced);
    const from = before?.size ?? 0;
    const isSame = before && from === (lastEntry(store.read)?.seq ?? 0);
    if (isSame && !isOutdated(store.read, this.#copy, from) && !this.#withheld.hasRemains)
      return this.#finish({
        note: before.note,
        size: from,
        proofs: this.#copy.synced_proofs,
        sha256: from === this.#copy.synced_size ? this.#copy.synced_state : null,
      });
    await this.#withheld.begin();
    await giveUpEncrypted(this.#synced);
    for await (const digests of this.#withheld.leftOut()) await this.#sendObjects(digests);
    let sent = from;
    for (let size = 0; (size = wholeFiles(lastEntry(store.read)?.seq ?? 0)) > sent; sent = size)
      await this.#sendRecords(sent, size);
    const state = await this.#sendNewestRecords(sent);
    const { size, note } = state;
    try {
      await this.#files.send({ ...state, path: statePath(size), type: 'application/jsonl' });
      await this.#files.sendBatch();
    } finally {
      await state.discard();
    }
    for (const tile of newTiles(from, size))
      await this.#send(tilePath(tile), { bytes: readTile(store, tile) }, 'application/octet-stream');
    await this.#files.flush();
    if (this.#copy.is_listed === 0) await this.#findUnlisted(size);
    await this.#withheld.sendNames();
    const replaced: string[] = [];
    const mustClean = await this.#withheld.mustClean();
    const onPage = (path: string) => void (mustClean && replaced.push(path));
    const pages = { ...this.#run, size, note, onPage, hidden: this.#withheld.inTheClear() };
    this.#pages = await sendPages(this.#services, this.#copy, this.#files, pages);
    await this.#sendClaim();
    await this.#files.writeList(note);
    await this.#sendCheckpoint(before, { size, note });
    await this.#withheld.forgetVersions(replaced);
    await this.#finish(state);
    this.#cleaned = await this.#withheld.clean();
    await this.#files.removeRest();
    await this.#withheld.end();
    return this.#result(note);
  }

  /** Sends the records of the entries after `from`, and returns the state that belongs to the last of them. */
  async #sendNewestRecords(from: number): Promise<CopiedState> {
    for (let sent = from; ; ) {
      // Damage that was found meanwhile is recorded by a new entry, which the checkpoint has to cover.
      this.#foundDamage = false;
      const state = await readState(this.#services);
      try {
        await this.#sendRecords(sent, state.size);
      } catch (error) {
        await state.discard();
        throw error;
      }
      if (!this.#foundDamage) return state;
      sent = state.size;
      await state.discard();
    }
  }

  /** Lists what earlier releases sent without a list. The metadata of objects can differ by now, and is sent again. */
  async #findUnlisted(size: number): Promise<void> {
    const { store } = this.#services;
    for (const file of size > 0 ? recordsFiles(size) : []) {
      if (this.#files.has(file.path)) continue;
      const { sha256, discard } = await readRecords(store, file, async () => {});
      await discard();
      await this.#files.adopt(file.path, sha256);
    }
    for (const tile of newTiles(0, size)) {
      const path = tilePath(tile);
      if (!this.#files.has(path)) await this.#files.adopt(path, hash('sha256', readTile(store, tile)));
    }
    const key = this.#files.has(KEY) ? undefined : await this.#target.digestOf(KEY, this.#run.signal);
    // Of a copy that was taken over, the owner put it there before.
    if (key) await this.#files.adopt(KEY, key.sha256);
    for (let last = '', batch: string[]; ; last = batch.at(-1) ?? '') {
      batch = copiedObjectsAfter(store.read, this.#copy.id, last, BATCH.objects);
      if (batch.length === 0) break;
      await this.#sendMetadata(batch.filter((sha256) => !this.#files.has(metadataPath(sha256))));
    }
    for await (const batch of this.#withheld.leftOut())
      await this.#sendMetadata(batch.filter((sha256) => !this.#files.has(metadataPath(sha256))));
  }

  /** Says whose copy it is, as of now: the archive may have a new key. */
  async #sendClaim(): Promise<void> {
    const bytes = claimBytes(this.#services, this.#copy.owner_token);
    const found = await this.#target.digestOf(CLAIM, this.#run.signal);
    if (found?.sha256 === hash('sha256', bytes)) await this.#files.adopt(CLAIM, found.sha256);
    else await this.#send(CLAIM, { bytes }, 'application/json');
  }

  /** If the copy was set back, taken over or written by another machine, its objects are listed again. */
  async #matchRows(before: CopiedCheckpoint | undefined): Promise<void> {
    const { store } = this.#services;
    const { id, synced_size, sending_size } = this.#copy;
    const size = before?.size ?? 0;
    // The checkpoint is sent before it is recorded as sent.
    if (size === synced_size || size === sending_size) return;
    await store.write((database) => {
      forgetCopiedObjects(database, id);
      forgetCopiedFiles(database, id);
      setPagesSize(database, { id, pages_size: this.#copy.pages_size, pages_version: 0 });
    });
    this.#copy = { ...this.#copy, pages_version: 0, is_listed: 0 };
    if (!before) return;
    let found: string[] = [];
    const flush = async () => {
      const digests = found;
      found = [];
      await store.write((database) => insertCopiedObjects(database, id, digests));
    };
    for await (const { path, bytes } of this.#target.list(OBJECTS, this.#run.signal)) {
      const sha256 = path.slice(OBJECTS.length);
      // A file of another size was cut short, and is sent again. Metadata files are not objects.
      if (blobBytes(store.read, sha256) === bytes) found.push(sha256);
      if (found.length >= 1_000) await flush();
    }
    await flush();
    await this.#findLeftOut();
    await adoptEncrypted(this.#synced);
    // Readers may still look into a copy that was taken over without its pages.
    const hasPages = (await this.#target.digestOf(INDEX, this.#run.signal)) !== undefined;
    if (hasPages && this.#copy.pages_size === 0) {
      await store.write((database) => setPagesSize(database, { id, pages_size: size, pages_version: 0 }));
      this.#copy = { ...this.#copy, pages_size: size };
    }
  }

  /** Finds what is not there of what the copy's records name. What later records name is not there either, and sent first. */
  async #findLeftOut(): Promise<void> {
    const { store } = this.#services;
    const { id } = this.#copy;
    for (let after = ''; ; ) {
      this.#run.signal.throwIfAborted();
      const blobs = blobsNotCopied(store.read, { copy: id, after, limit: 1_000 });
      const last = blobs.at(-1);
      if (last === undefined) return;
      const missing = blobs.filter(({ isCopied }) => isCopied === 0).map(({ sha256 }) => sha256);
      await store.write((database) => leaveOut(database, id, missing));
      after = last.sha256;
    }
  }

  /** Sends the records of the entries after `from` up to `size`, a file at a time, each after the objects it names. */
  async #sendRecords(from: number, size: number): Promise<void> {
    const { store } = this.#services;
    for (const { path, first, last } of recordsFiles(size, from + 1)) {
      this.#run.signal.throwIfAborted();
      const sent = new Set<string>();
      const retrieved = {
        after: lastCoveredBy(store.read, Math.max(first - 1, from)),
        until: lastCoveredBy(store.read, last),
      };
      const records = await readRecords(store, { first, last }, async (objects) => {
        for (const sha256 of await this.#sendObjects(objects)) sent.add(sha256);
        await this.#sendLateMetadata(
          objects.filter((sha256) => !sent.has(sha256)),
          retrieved,
        );
      });
      try {
        const { payload, sha256 } = records;
        await this.#files.send({ path, payload, sha256, type: 'application/jsonl' });
        await this.#files.sendBatch();
      } finally {
        await records.discard();
      }
      this.#records += last - Math.max(first - 1, from);
    }
  }

  /** Sends the metadata of objects that the copy holds as files of packs and that were retrieved since. */
  async #sendLateMetadata(
    named: readonly string[],
    { after, until }: { after: number; until: number },
  ): Promise<void> {
    const { read } = this.#services.store;
    const late = named.filter((sha256) => {
      const first = firstRetrievalOf(read, sha256);
      return first !== undefined && first > after && first <= until;
    });
    await this.#sendMetadata(late);
  }

  async #sendMetadata(digests: readonly string[]): Promise<void> {
    for (const sha256 of digests) {
      const metadata = metadataOf(this.#services.store.read, sha256);
      if (metadata) await this.#files.send(metadata);
    }
    await this.#files.sendBatch();
  }

  /** Sends the objects that the copy does not hold and may have, and returns them. */
  async #sendObjects(named: readonly string[]): Promise<string[]> {
    const { store } = this.#services;
    const { read } = store;
    const missing = named.filter(
      (sha256) => !isCopied(read, this.#copy.id, sha256) && !releaseOf(read, sha256),
    );
    const isLeftOut = (sha256: string) =>
      this.#withheld.hides(sha256) || isDamaged(read, sha256) || isAbsent(read, sha256);
    const leftOut = missing.filter(isLeftOut);
    if (leftOut.length > 0) await store.write((database) => leaveOut(database, this.#copy.id, leftOut));
    const sent = missing.filter((sha256) => !isLeftOut(sha256));
    for (const batch of inBatches(read, sent, BATCH)) await this.#sendBatch(batch);
    return sent;
  }

  /** Sends objects and records that the copy holds them: a sync that is killed does not send them again. */
  async #sendBatch(batch: readonly string[]): Promise<void> {
    const { store } = this.#services;
    const { id } = this.#copy;
    const onBytes = (bytes: number) => {
      this.#bytes += bytes;
      this.#run.progress(this.#bytes, null);
    };
    await this.#files.announceObjects(batch);
    const { sent, damaged } = await sendObjects(store, this.#target, batch, {
      signal: this.#run.signal,
      onBytes,
    });
    await this.#sendMetadata(sent);
    await this.#files.flush();
    await store.write((database) => {
      insertCopiedObjects(database, id, sent);
      leaveOut(database, id, damaged);
    });
    this.#objects += sent.length;
    await this.#requireDamage(damaged);
  }

  /** Records why objects could not be sent. @throws CopyError if one is neither damaged nor released */
  async #requireDamage(unsent: readonly string[]): Promise<void> {
    const { store } = this.#services;
    const damaged = unsent.filter((sha256) => !releaseOf(store.read, sha256));
    if (damaged.length === 0) return;
    this.#foundDamage = true;
    await auditObjects(store, damaged);
    const [unexplained] = damaged.filter(
      (sha256) => !isDamaged(store.read, sha256) && !releaseOf(store.read, sha256),
    );
    if (unexplained !== undefined)
      throw new CopyError(
        `The object ${unexplained} is missing from this archive. Run an integrity check first.`,
      );
  }

  #send(path: string, payload: Payload, type: string): Promise<void> {
    return this.#files.send({ path, payload, type });
  }

  /** Writes the checkpoint, unless another machine wrote to the copy meanwhile. */
  async #sendCheckpoint(
    before: CopiedCheckpoint | undefined,
    { size, note }: Pick<CopiedState, 'size' | 'note'>,
  ): Promise<void> {
    const now = await assertOwnedByThisNode(this.#services, this.#copy, this.#target);
    if (now?.note !== before?.note)
      throw new CopyError(
        `Another program wrote to the copy in ${this.#target.name} during the sync. Stop it, then sync again.`,
      );
    await this.#services.store.write((database) =>
      setSendingSize(database, { id: this.#copy.id, sending_size: size }),
    );
    await this.#target.put(CHECKPOINT, { bytes: Buffer.from(note) }, { type: 'text/plain; charset=utf-8' });
    await this.#target.flush();
  }

  async #finish({ note, size, proofs, sha256 }: SyncedState): Promise<CopySync> {
    const { store } = this.#services;
    const { id } = this.#copy;
    await store.write((database) => {
      // The owner may have removed the copy meanwhile.
      const copy = copyById(database, id);
      if (!copy) return;
      setSynced(database, this.#copy, { size, proofs, state: sha256, at: store.instant() });
      const { pages, public_url } = this.#copy;
      // If the owner changed it meanwhile, the next sync writes the pages anew.
      if (this.#pages !== undefined && copy.pages === pages && copy.public_url === public_url)
        setPagesSize(database, { id, pages_size: pages === 1 ? size : 0, pages_version: PAGES_VERSION });
    });
    return this.#result(note);
  }

  #result(checkpoint: string): CopySync {
    const { withheld, released, left, hasVersions } = this.#cleaned;
    const sent = {
      objects: this.#objects,
      bytes: this.#bytes,
      records: this.#records,
      checkpoint,
      withheld_cleaned: withheld,
      withheld_in_the_clear: left,
      released_removed: released,
      older_versions: hasVersions,
    };
    return this.#copy.pages === 1 ? { ...sent, pages: this.#pages ?? 0 } : sent;
  }
}

/**
 * Whether a copy of a ledger of this size lacks its list, pages, or cases and proofs, which no ledger entry records, or
 * something that an interrupted sync had to do.
 */
export function isOutdated(database: ReadDatabase, copy: CopyRow, size: number): boolean {
  return (
    copy.is_listed === 0 ||
    copy.is_sending === 1 ||
    pagesAreBehind(copy, size) ||
    // What it lacked while readers could look into it.
    (!isOpenToReaders(copy) && isAnyLeftOut(database, { copy: copy.id })) ||
    copy.case_changes > 0 ||
    copy.synced_proofs !== proofsState(database)
  );
}

/** The part of a ledger that fills whole files of records. */
function wholeFiles(size: number): number {
  return size - (size % RECORDS_PER_FILE);
}
