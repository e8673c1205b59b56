import type { CopySync } from '../../shared/node/copy.ts';
import { confirmDamage } from '../fixity/confirmDamage.ts';
import { isDamaged } from '../fixity/damages.ts';
import { readTile } from '../ledger/tiles/readTile.ts';
import { tilePath } from '../ledger/tiles/tileAddress.ts';
import { TILE_WIDTH } from '../ledger/tree.ts';
import { lastCoveredBy } from '../store/sqlite/collection/retrievalBatches.ts';
import { firstRetrievalOf } from '../store/sqlite/collection/retrievals.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import {
  type CopyRow,
  copyById,
  forgetCopiedObjects,
  insertCopiedObjects,
  isCopied,
  setPagesSize,
  setSynced,
} from '../store/sqlite/node/copies.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import { proofsState } from '../store/sqlite/node/witness.ts';
import type { CopiedCheckpoint } from './claim.ts';
import { CHECKPOINT, newTiles, OBJECTS, RECORDS_PER_FILE, recordsFiles, statePath } from './copyPaths.ts';
import { PAGES_VERSION } from './pages/pagePaths.ts';
import { pagesAreBehind, sendPages } from './pages/sendPages.ts';
import { type CopiedState, readRecords, readState } from './records/readRecords.ts';
import { type CopyServices, requireOwn } from './requireOwn.ts';
import { sendMetadata, sendObjects } from './sendObjects.ts';
import { CopyError, type CopyTarget, type Payload } from './targets/target.ts';

/** The objects that are sent before they are brought to stable storage together and counted as copied. */
const BATCH_OBJECTS = 1_000;
const BATCH_BYTES = 536_870_912;

export interface SyncRun {
  signal: AbortSignal;
  /** Called with the bytes of objects sent so far; the total is not known. */
  progress: (done: number, total: null) => void;
}

/**
 * Brings a copy up to date. Only what is new is sent, in the order objects, records, state, tiles, pages, checkpoint, so that a
 * copy is never ahead of its contents. After a crash the next sync goes on: what is sent twice is the same.
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

type SyncedState = Omit<CopiedState, 'bytes' | 'sha256'> & { sha256: string | null };

class Sync {
  readonly #services: CopyServices;
  #copy: CopyRow;
  readonly #target: CopyTarget;
  readonly #run: SyncRun;
  #objects = 0;
  #bytes = 0;
  #records = 0;
  #pages: number | undefined;
  #foundDamage = false;

  constructor(services: CopyServices, copy: CopyRow, target: CopyTarget, run: SyncRun) {
    this.#services = services;
    this.#copy = copy;
    this.#target = target;
    this.#run = run;
  }

  async run(): Promise<CopySync> {
    const { store } = this.#services;
    const before = await requireOwn(this.#services, this.#copy, this.#target);
    await this.#matchRows(before);
    const from = before?.size ?? 0;
    const isSame = before && from === (lastEntry(store.read)?.seq ?? 0);
    if (isSame && !isOutdated(store.read, this.#copy, from))
      return this.#finish({
        note: before.note,
        size: from,
        proofs: this.#copy.synced_proofs,
        sha256: from === this.#copy.synced_size ? this.#copy.synced_state : null,
      });
    let sent = from;
    for (let size = 0; (size = wholeFiles(lastEntry(store.read)?.seq ?? 0)) > sent; sent = size)
      await this.#sendRecords(sent, size);
    let state: CopiedState;
    do {
      // Damage that was found meanwhile is recorded by a new entry, which the checkpoint has to cover.
      this.#foundDamage = false;
      state = await readState(this.#services);
      await this.#sendRecords(sent, state.size);
      sent = state.size;
    } while (this.#foundDamage);
    const { size, note } = state;
    await this.#put(statePath(size), { bytes: state.bytes }, 'application/jsonl');
    await this.#sendTiles(from, size);
    this.#pages = await sendPages(this.#services, this.#copy, this.#target, { ...this.#run, size, note });
    await this.#target.settle();
    await this.#sendCheckpoint(before, note);
    await this.#finish(state);
    await this.#removeReplaced(from, size);
    return this.#result(note);
  }

  /** If the copy was set back or written by another machine, its objects are listed again. */
  async #matchRows(before: CopiedCheckpoint | undefined): Promise<void> {
    const { store } = this.#services;
    const { id, synced_size } = this.#copy;
    if ((before?.size ?? 0) === synced_size) return;
    await store.write((database) => {
      forgetCopiedObjects(database, id);
      setPagesSize(database, id, this.#copy.pages_size, 0);
    });
    this.#copy = { ...this.#copy, pages_version: 0 };
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
        await this.#put(path, records.payload, 'application/jsonl');
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
    for (const sha256 of named) {
      const first = firstRetrievalOf(read, sha256);
      if (first !== undefined && first > after && first <= until)
        await sendMetadata(read, this.#target, sha256, this.#run.signal);
    }
  }

  /** Sends the objects that the copy does not hold, and returns them. */
  async #sendObjects(named: readonly string[]): Promise<string[]> {
    const { read } = this.#services.store;
    const missing = named.filter(
      (sha256) => !isCopied(read, this.#copy.id, sha256) && !isDamaged(read, sha256),
    );
    for (const batch of inBatches(missing, (sha256) => blobBytes(read, sha256) ?? 0))
      await this.#sendBatch(batch);
    return missing;
  }

  /** Sends objects and records that the copy holds them: a sync that is killed does not send them again. */
  async #sendBatch(batch: readonly string[]): Promise<void> {
    const { store } = this.#services;
    const { id } = this.#copy;
    const onBytes = (bytes: number) => {
      this.#bytes += bytes;
      this.#run.progress(this.#bytes, null);
    };
    const { sent, damaged } = await sendObjects(store, this.#target, batch, {
      signal: this.#run.signal,
      onBytes,
    });
    await this.#target.settle();
    await store.write((database) => insertCopiedObjects(database, id, sent));
    this.#objects += sent.length;
    if (damaged.length === 0) return;
    this.#foundDamage = true;
    await confirmDamage(store, damaged);
    const [unexplained] = damaged.filter((sha256) => !isDamaged(store.read, sha256));
    if (unexplained !== undefined)
      throw new CopyError(
        `The object ${unexplained} is missing from this archive. Run an integrity check first.`,
      );
  }

  #put(path: string, payload: Payload, type: string): Promise<void> {
    return this.#target.put(path, payload, { type, signal: this.#run.signal });
  }

  async #sendTiles(from: number, size: number): Promise<void> {
    const { store } = this.#services;
    for (const tile of newTiles(from, size)) {
      this.#run.signal.throwIfAborted();
      await this.#put(tilePath(tile), { bytes: readTile(store, tile) }, 'application/octet-stream');
    }
  }

  /** Writes the checkpoint, unless another machine wrote to the copy meanwhile. */
  async #sendCheckpoint(before: CopiedCheckpoint | undefined, note: string): Promise<void> {
    const now = await requireOwn(this.#services, this.#copy, this.#target);
    if (now?.note !== before?.note)
      throw new CopyError(
        `Another program wrote to the copy in ${this.#target.name} during the sync. Stop it, then sync again.`,
      );
    await this.#target.put(CHECKPOINT, { bytes: Buffer.from(note) }, { type: 'text/plain; charset=utf-8' });
    await this.#target.settle();
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
        setPagesSize(database, id, pages === 1 ? size : 0, PAGES_VERSION);
    });
    return this.#result(note);
  }

  /** Removes partial files that the new checkpoint does not need. */
  async #removeReplaced(from: number, size: number): Promise<void> {
    if (from === 0 || from === size) return;
    const needed = new Set([...recordsFiles(size, from)].map(({ path }) => path));
    for (const { path } of recordsFiles(from, from)) if (!needed.has(path)) await this.#target.remove(path);
    await this.#target.remove(statePath(from));
    // C2SP tlog-tiles: a partial tile may be removed once the full one is there.
    for (const tile of newTiles(from, size)) {
      if (tile.width < TILE_WIDTH) continue;
      for await (const { path } of this.#target.list(`${tilePath(tile)}.p/`, this.#run.signal))
        await this.#target.remove(path);
    }
  }

  #result(checkpoint: string): CopySync {
    const sent = { objects: this.#objects, bytes: this.#bytes, records: this.#records, checkpoint };
    return this.#copy.pages === 1 ? { ...sent, pages: this.#pages ?? 0 } : sent;
  }
}

/** Whether a copy of a ledger of this size lacks pages, or cases and proofs, which no ledger entry records. */
export function isOutdated(database: ReadDatabase, copy: CopyRow, size: number): boolean {
  return pagesAreBehind(copy, size) || copy.case_changes > 0 || copy.synced_proofs !== proofsState(database);
}

/** Splits a list of objects into batches, so that an interruption costs little. A large object is a batch of its own. */
function* inBatches(digests: readonly string[], bytesOf: (sha256: string) => number): Generator<string[]> {
  let batch: string[] = [];
  let bytes = 0;
  for (const sha256 of digests) {
    batch.push(sha256);
    bytes += bytesOf(sha256);
    if (batch.length < BATCH_OBJECTS && bytes < BATCH_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

/** The part of a ledger that fills whole files of records. */
function wholeFiles(size: number): number {
  return size - (size % RECORDS_PER_FILE);
}
