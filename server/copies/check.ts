import { createHash } from 'node:crypto';
import pLimit from 'p-limit';
import type { CopyCheck } from '../../shared/node/copy.ts';
import { confirmDamage } from '../fixity/confirmDamage.ts';
import { restoreObject } from '../fixity/restoreObject.ts';
import { readTile } from '../ledger/tiles/readTile.ts';
import { tilePath } from '../ledger/tiles/tileAddress.ts';
import {
  type CopyRow,
  copiedObjectsAfter,
  countCopiedObjects,
  leastRecentlyChecked,
  setChecked,
  setCopyError,
  setObjectsChecked,
  setObjectUnchecked,
  setReadBack,
  setSyncedState,
} from '../store/sqlite/node/copies.ts';
import { currentDamages } from '../store/sqlite/node/damages.ts';
import type { CopiedCheckpoint } from './claim.ts';
import { newTiles, objectPath, recordsFiles, statePath } from './copyPaths.ts';
import { makePages } from './pages/makePages.ts';
import { pageContext, pagesAreBehind } from './pages/sendPages.ts';
import { readRecords, readState } from './records/readRecords.ts';
import { type CopyServices, requireOwn } from './requireOwn.ts';
import { sendObjects } from './sendObjects.ts';
import { CopyError, type CopyTarget, type Payload } from './targets/target.ts';

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
  #total = 0;
  /** Objects that are intact neither here nor in the copy. */
  readonly #lost: string[] = [];
  readonly #result: CopyCheck = { ok: true, checked: 0, damaged: 0, missing: 0, restored: 0 };

  constructor(services: CopyServices, copy: CopyRow, target: CopyTarget, run: CheckRun) {
    this.#services = services;
    this.#copy = copy;
    this.#target = target;
    this.#run = run;
  }

  async run({ size, note }: CopiedCheckpoint): Promise<CopyCheck> {
    const { store } = this.#services;
    const { id } = this.#copy;
    const begun = store.instant();
    this.#total = this.#filesToCheck(size);
    await this.#restoreDamaged();
    if (this.#run.sample === undefined) {
      let last = '';
      for (let batch = copiedObjectsAfter(store.read, id, last, BATCH); batch.length > 0; ) {
        await this.#checkObjects(batch);
        last = batch.at(-1) ?? '';
        batch = copiedObjectsAfter(store.read, id, last, BATCH);
      }
      await this.#checkLog(size);
      await this.#checkPages({ size, note });
    } else {
      const sample = leastRecentlyChecked(store.read, id, this.#run.sample);
      for (let first = 0; first < sample.length; first += BATCH)
        await this.#checkObjects(sample.slice(first, first + BATCH));
    }
    await this.#target.settle();
    await store.write((database) => {
      setChecked(database, id, store.instant());
      if (this.#run.sample === undefined) setReadBack(database, id, begun);
    });
    const [lost] = this.#lost;
    if (lost !== undefined) {
      const sentence = `${this.#lost.length} objects are intact neither here nor in ${this.#target.name}, the first of them ${lost}. Check another copy.`;
      await store.write((database) => setCopyError(database, id, sentence));
    }
    this.#result.ok = this.#result.damaged + this.#result.missing === 0;
    return this.#result;
  }

  /** The files that a check reads back, as they are known at its start. */
  #filesToCheck(size: number): number {
    const objects = countCopiedObjects(this.#services.store.read, this.#copy.id);
    if (this.#run.sample !== undefined) return Math.min(this.#run.sample, objects);
    const state = 1;
    return objects + [...recordsFiles(size)].length + [...newTiles(0, size)].length + state;
  }

  /** Reads objects back; sends those again that are damaged or missing. */
  async #checkObjects(digests: readonly string[]): Promise<void> {
    const { store } = this.#services;
    const limit = pLimit(this.#target.concurrency);
    const found = await Promise.all(digests.map((sha256) => limit(() => this.#digestOf(objectPath(sha256)))));
    const wrong = digests.filter((sha256, index) => found[index] !== sha256);
    for (const sha256 of wrong) this.#count(found[digests.indexOf(sha256)]);
    const right = digests.filter((sha256) => !wrong.includes(sha256));
    const at = store.instant();
    // Recorded first: nothing may leave this disk for an object that is wrong there.
    await store.write((database) => {
      setObjectsChecked(database, this.#copy.id, right, at);
      for (const sha256 of wrong) setObjectUnchecked(database, this.#copy.id, sha256);
    });
    if (wrong.length > 0) await this.#sendAgain(wrong);
    this.#result.checked += digests.length;
    this.#run.progress(this.#result.checked, this.#total);
  }

  /** Sends objects again, from here or from another copy. Those that are intact nowhere are recorded as damaged. */
  async #sendAgain(digests: readonly string[]): Promise<void> {
    const { store } = this.#services;
    const { signal } = this.#run;
    const { damaged } = await sendObjects(store, this.#target, digests, { signal, onBytes: () => {} });
    await this.#target.settle();
    if (damaged.length === 0) return;
    await confirmDamage(store, damaged);
    this.#lost.push(...damaged);
  }

  /** Puts objects back that are recorded as damaged here and are intact in the copy. */
  async #restoreDamaged(): Promise<void> {
    const { store } = this.#services;
    for (const { sha256 } of currentDamages(store.read, Number.MAX_SAFE_INTEGER)) {
      const stream = await this.#target.read(objectPath(sha256), this.#run.signal);
      if (!stream) continue;
      if (await restoreObject(store, sha256, stream as AsyncIterable<Buffer>)) this.#result.restored += 1;
    }
  }

  /** Compares the records, the tiles and the state with what they must be. */
  async #checkLog(size: number): Promise<void> {
    const { store } = this.#services;
    for (const file of recordsFiles(size)) {
      const records = await readRecords(store, file, async () => {});
      try {
        await this.#compare(file.path, records, 'application/jsonl');
      } finally {
        await records.discard();
      }
    }
    for (const tile of newTiles(0, size)) {
      const bytes = readTile(store, tile);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      await this.#compare(tilePath(tile), { payload: { bytes }, sha256 }, 'application/octet-stream');
    }
    await this.#checkState(size);
  }

  /** Compares the state with what was sent. It may have changed since, so it cannot be made again. */
  async #checkState(size: number): Promise<void> {
    const { store } = this.#services;
    const { id, synced_state } = this.#copy;
    const path = statePath(size);
    const found = await this.#digestOf(path);
    this.#countChecked();
    if (found !== undefined && (synced_state === null || found === synced_state)) return;
    this.#count(found);
    const { size: newest, bytes, sha256 } = await readState(this.#services);
    // Otherwise the next sync writes a newer state.
    if (newest !== size) return;
    await this.#target.put(path, { bytes }, { type: 'application/jsonl' });
    await this.#target.settle();
    await store.write((database) => setSyncedState(database, id, sha256));
  }

  /** Compares the pages for readers with what they must be. If they are behind, the next sync writes them. */
  async #checkPages(checkpoint: { size: number; note: string }): Promise<void> {
    if (this.#copy.pages === 0 || pagesAreBehind(this.#copy, checkpoint.size)) return;
    const context = pageContext(this.#services, this.#copy, checkpoint);
    for await (const { path, bytes, type } of makePages(context, 0)) {
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      await this.#compare(path, { payload: { bytes }, sha256 }, type);
    }
  }

  async #compare(
    path: string,
    { payload, sha256 }: { payload: Payload; sha256: string },
    type: string,
  ): Promise<void> {
    this.#run.signal.throwIfAborted();
    const found = await this.#digestOf(path);
    this.#countChecked();
    if (found === sha256) return;
    this.#count(found);
    await this.#target.put(path, payload, { type });
  }

  #countChecked(): void {
    this.#result.checked += 1;
    // The number of pages is not known before.
    this.#run.progress(this.#result.checked, Math.max(this.#total, this.#result.checked));
  }

  #count(found: string | undefined): void {
    if (found === undefined) this.#result.missing += 1;
    else this.#result.damaged += 1;
  }

  /** The digest of a file of the copy; undefined if it is missing. */
  async #digestOf(path: string): Promise<string | undefined> {
    return (await this.#target.digestOf(path, this.#run.signal))?.sha256;
  }
}
