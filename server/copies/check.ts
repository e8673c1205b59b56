import { createHash } from 'node:crypto';
import pLimit from 'p-limit';
import type { CopyCheck } from '../../shared/node/copy.ts';
import { putBack } from '../fixity/putBack.ts';
import { readTile } from '../ledger/tiles/readTile.ts';
import { tilePath } from '../ledger/tiles/tileAddress.ts';
import { counter } from '../store/sqlite/node/blobs.ts';
import {
  type CopyRow,
  copiedObjectsAfter,
  leastRecentlyChecked,
  setChecked,
  setObjectsChecked,
} from '../store/sqlite/node/copies.ts';
import { currentDamages } from '../store/sqlite/node/damages.ts';
import type { CopiedCheckpoint } from './claim.ts';
import { newTiles, objectPath, recordsFiles, statePath } from './layout.ts';
import { readRecords, readState } from './readRecords.ts';
import { type CopyServices, requireOwn } from './requireOwn.ts';
import { sendObjects } from './sendObjects.ts';
import { CopyError, type CopyTarget } from './targets/target.ts';

export interface CheckRun {
  signal: AbortSignal;
  /** Called with the number of files read back, and how many there are. */
  progress: (done: number, total: number) => void;
  /** The number of objects to check, those checked longest ago first; all objects, records and tiles if undefined. */
  sample?: number | undefined;
}

/** The objects that are read back before their results are recorded. */
const BATCH = 256;

/**
 * Reads a copy back and hashes it. What is damaged or missing there is sent again, and what is damaged here and intact
 * there is put back here.
 *
 * @throws CopyError; the signal's reason
 */
export async function checkCopy(
  services: CopyServices,
  copy: CopyRow,
  target: CopyTarget,
  run: CheckRun,
): Promise<CopyCheck> {
  const checkpoint = await requireOwn(services, copy, target);
  if (!checkpoint) throw new CopyError(`The copy in ${target.name} is not complete yet. Sync it first.`);
  const check = new Check(services, copy, target, run);
  return check.run(checkpoint);
}

class Check {
  readonly #services: CopyServices;
  readonly #copy: CopyRow;
  readonly #target: CopyTarget;
  readonly #run: CheckRun;
  readonly #result: CopyCheck = { ok: true, checked: 0, damaged: 0, missing: 0, restored: 0 };

  constructor(services: CopyServices, copy: CopyRow, target: CopyTarget, run: CheckRun) {
    this.#services = services;
    this.#copy = copy;
    this.#target = target;
    this.#run = run;
  }

  async run({ size }: CopiedCheckpoint): Promise<CopyCheck> {
    const { store } = this.#services;
    const { id } = this.#copy;
    await this.#restoreDamaged();
    if (this.#run.sample === undefined) {
      let last = '';
      for (let batch = copiedObjectsAfter(store.read, id, last, BATCH); batch.length > 0; ) {
        await this.#checkObjects(batch);
        last = batch.at(-1) ?? '';
        batch = copiedObjectsAfter(store.read, id, last, BATCH);
      }
      await this.#checkLog(size);
    } else {
      const sample = leastRecentlyChecked(store.read, id, this.#run.sample);
      for (let first = 0; first < sample.length; first += BATCH)
        await this.#checkObjects(sample.slice(first, first + BATCH));
    }
    await this.#target.settle();
    await store.write((database) => setChecked(database, id, store.instant()));
    this.#result.ok = this.#result.damaged + this.#result.missing === 0;
    return this.#result;
  }

  /** Reads objects back; sends those again that are damaged or missing. */
  async #checkObjects(digests: readonly string[]): Promise<void> {
    const { store } = this.#services;
    const limit = pLimit(this.#target.concurrency);
    const found = await Promise.all(digests.map((sha256) => limit(() => this.#digestOf(objectPath(sha256)))));
    const wrong = digests.filter((sha256, index) => found[index] !== sha256);
    for (const sha256 of wrong) this.#count(found[digests.indexOf(sha256)]);
    const { signal } = this.#run;
    if (wrong.length > 0) {
      const { damaged } = await sendObjects(store, this.#target, wrong, { signal, onBytes: () => {} });
      if (damaged.length > 0)
        throw new CopyError(
          `The object ${damaged[0]} is damaged both here and in the copy in ${this.#target.name}. Check another copy.`,
        );
      await this.#target.settle();
    }
    this.#result.checked += digests.length;
    await store.write((database) => setObjectsChecked(database, this.#copy.id, digests, store.instant()));
    this.#run.progress(this.#result.checked, this.#run.sample ?? counter(store.read, 'archived_objects'));
  }

  /** Puts objects back that are recorded as damaged here and are intact in the copy. */
  async #restoreDamaged(): Promise<void> {
    const { store } = this.#services;
    for (const { sha256 } of currentDamages(store.read, Number.MAX_SAFE_INTEGER)) {
      const stream = await this.#target.read(objectPath(sha256), this.#run.signal);
      if (!stream) continue;
      if (await putBack(store, sha256, stream as AsyncIterable<Buffer>)) this.#result.restored += 1;
    }
  }

  /** Compares the records, the tiles and the state with what they must be. */
  async #checkLog(size: number): Promise<void> {
    const { store } = this.#services;
    for (const file of recordsFiles(size)) {
      const { bytes } = await readRecords(store, file);
      await this.#compare(file.path, bytes, 'application/jsonl');
    }
    for (const tile of newTiles(0, size))
      await this.#compare(tilePath(tile), readTile(store, tile), 'application/octet-stream');
    const path = statePath(size);
    if ((await this.#digestOf(path)) !== undefined) return;
    this.#result.missing += 1;
    const state = await readState(this.#services);
    // Otherwise the next sync writes a newer state.
    if (state.size === size)
      await this.#target.put(path, { bytes: state.bytes }, { type: 'application/jsonl' });
  }

  async #compare(path: string, bytes: Buffer, type: string): Promise<void> {
    this.#run.signal.throwIfAborted();
    const found = await this.#digestOf(path);
    this.#result.checked += 1;
    if (found === createHash('sha256').update(bytes).digest('hex')) return;
    this.#count(found);
    await this.#target.put(path, { bytes }, { type });
  }

  #count(found: string | undefined): void {
    if (found === undefined) this.#result.missing += 1;
    else this.#result.damaged += 1;
  }

  /** The digest of a file of the copy; undefined if it is missing. */
  async #digestOf(path: string): Promise<string | undefined> {
    const stream = await this.#target.read(path, this.#run.signal);
    if (!stream) return undefined;
    const hash = createHash('sha256');
    for await (const chunk of stream as AsyncIterable<Buffer>) hash.update(chunk);
    return hash.digest('hex');
  }
}
