import { existsSync } from 'node:fs';
import pLimit from 'p-limit';
import { type CopyCheck, MAX_NAMED_FILES } from '../../shared/node/copy.ts';
import { Problem } from '../../shared/problems.ts';
import { countOf } from '../../shared/values/counts.ts';
import { EMPTY_DIGEST } from '../../shared/values/digestPattern.ts';
import { confirmDamage } from '../fixity/audit.ts';
import { restoreObject } from '../fixity/damages.ts';
import { parseTilePath, readTile } from '../ledger/tree.ts';
import type { Log } from '../runtime/log.ts';
import { blobBytes, counter, currentDamages } from '../store/sqlite/node/blobs.ts';
import { type CopiedFile, countListedFiles, filesOfList } from '../store/sqlite/node/copiedFiles.ts';
import {
  type CopyRow,
  copiedObjectsAfter,
  countCopiedObjects,
  countWithheldLeftOut,
  insertCopiedObjects,
  isCopied,
  leastRecentlyChecked,
  setChecked,
  setCopyError,
  setKeptKey,
  setObjectsChecked,
  setObjectUnchecked,
  setReadBack,
  setSending,
  setSyncedState,
} from '../store/sqlite/node/copies.ts';
import { isReleased } from '../store/sqlite/node/withheld.ts';
import type { Store } from '../store/store.ts';
import { assertOwnedByThisNode, type CopiedCheckpoint, type CopyServices, claimBytes } from './claim.ts';
import { CopyFiles, isAnnouncement, isPage } from './copyFiles.ts';
import { CHECKPOINT, CLAIM, encryptedDigest, KEY, LEFT_OUT, objectPath, statePath } from './copyPaths.ts';
import { isLeftBehind } from './leftFiles.ts';
import { bringBackIfRead } from './offload/markLost.ts';
import { makePages, pageContext, pagesAreBehind } from './pages/makePages.ts';
import { readRecords, readState } from './records.ts';
import { metadataOf, sendObjects } from './sendObjects.ts';
import { CopyError, type CopyTarget } from './targets/target.ts';
import { WithheldObjects } from './withheldObjects.ts';

interface CheckRun {
  signal: AbortSignal;
  /** Called with the number of files read back, and how many there are. */
  progress: (done: number, total: number) => void;
  /** The number of objects to check, those checked longest ago first; all objects, records and tiles if undefined. */
  sample?: number | undefined;
}

const TILES = 'tile/';
const RECORDS = /^records\/(\d+)-(\d+)\.jsonl$/;
const OBJECT = /^archive\/([0-9a-f]{64})$/;
const METADATA = /^archive\/([0-9a-f]{64})\.json$/;

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
  const checkpoint = await assertOwnedByThisNode(services, copy, target);
  if (!checkpoint || copy.is_listed === 0)
    throw new CopyError(`The copy in ${target.name} is not complete yet. Sync it first.`);
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
  readonly #files: CopyFiles;
  readonly #withheld: WithheldObjects;
  readonly #result: CopyCheck = {
    ok: true,
    checked: 0,
    damaged: 0,
    missing: 0,
    extra: 0,
    exposed: 0,
    withheld: 0,
    released: 0,
    restored: 0,
    wrong: [],
  };

  constructor(services: CopyServices, copy: CopyRow, target: CopyTarget, run: CheckRun) {
    this.#services = services;
    this.#copy = copy;
    this.#target = target;
    this.#run = run;
    this.#files = new CopyFiles(services, copy.id, target, run.signal);
    const { signal } = run;
    this.#withheld = new WithheldObjects({ services, copy, target, files: this.#files, signal });
  }

  async run({ size, note }: Pick<CopiedCheckpoint, 'size' | 'note'>): Promise<CopyCheck> {
    const { store } = this.#services;
    const { id } = this.#copy;
    const begun = store.instant();
    this.#total = this.#filesToCheck();
    this.#result.withheld = countWithheldLeftOut(store.read, { copy: id });
    this.#result.released = counter(store.read, 'released_objects');
    await this.#restoreDamaged();
    if (this.#run.sample === undefined) {
      let last = '';
      for (let batch = copiedObjectsAfter(store.read, id, last, BATCH); batch.length > 0; ) {
        await this.#checkObjects(batch);
        last = batch.at(-1) ?? '';
        batch = copiedObjectsAfter(store.read, id, last, BATCH);
      }
      await this.#checkFiles({ size, note });
      await this.#findExtra();
    } else {
      const sample = leastRecentlyChecked(store.read, id, this.#run.sample);
      for (let first = 0; first < sample.length; first += BATCH)
        await this.#checkObjects(sample.slice(first, first + BATCH));
    }
    await this.#target.flush();
    await store.write((database) => {
      setChecked(database, { id, at: store.instant() });
      if (this.#run.sample === undefined) setReadBack(database, { id, read_back_at: begun });
    });
    const [lost] = this.#lost;
    if (lost !== undefined) {
      const sentence = `${countOf(this.#lost.length, 'object is', 'objects are')} intact neither here nor in ${this.#target.name}, the first of them ${lost}. Check another copy.`;
      await store.write((database) => setCopyError(database, { id, last_error: sentence }));
    }
    const { damaged, missing, extra, exposed } = this.#result;
    this.#result.ok = damaged + missing + extra + exposed === 0;
    return this.#result;
  }

  /** The files that a check reads back, as they are known at its start. */
  #filesToCheck(): number {
    const { read } = this.#services.store;
    const objects = countCopiedObjects(read, this.#copy.id);
    if (this.#run.sample !== undefined) return Math.min(this.#run.sample, objects);
    return objects + countListedFiles(read, this.#copy.id) + filesOfList(read, this.#copy.id).length;
  }

  /** Reads objects back; sends those again that are damaged or missing. */
  async #checkObjects(digests: readonly string[]): Promise<void> {
    const { store } = this.#services;
    const limit = pLimit(this.#target.concurrency);
    const found = await Promise.all(digests.map((sha256) => limit(() => this.#digestOf(objectPath(sha256)))));
    // The next sync removes those that were released, and those that were withheld.
    const wrong = digests.filter(
      (sha256, index) =>
        found[index] !== sha256 && !isReleased(store.read, sha256) && !this.#withheld.hides(sha256),
    );
    for (const sha256 of wrong) this.#count(objectPath(sha256), found[digests.indexOf(sha256)]);
    const right = digests.filter((sha256, index) => found[index] === sha256);
    const at = store.instant();
    // Recorded first: no object may be offloaded that is wrong there.
    await store.write((database) => {
      setObjectsChecked(database, this.#copy.id, right, at);
      for (const sha256 of wrong) setObjectUnchecked(database, this.#copy.id, sha256);
    });
    if (wrong.length > 0) await this.#sendAgain(wrong);
    // No audit need have recorded them: a database that was rebuilt does not know what was offloaded.
    for (const sha256 of await missingAmong(store, right)) await this.#restore(sha256);
    this.#result.checked += digests.length;
    this.#run.progress(this.#result.checked, this.#total);
  }

  /** Sends objects again, from here or from another copy. Those that are intact nowhere are recorded as damaged. */
  async #sendAgain(digests: readonly string[]): Promise<void> {
    const { store } = this.#services;
    const { signal } = this.#run;
    const { offloaded } = store.blobs;
    // The cache may have the last intact bytes, and the next start empties it.
    for (const sha256 of digests)
      if (offloaded.isCached(sha256) && (await offloaded.isOffloaded(sha256)))
        await bringBackIfRead(store, sha256);
    const { damaged } = await sendObjects(store, this.#target, digests, { signal, onBytes: () => {} });
    await this.#target.flush();
    if (damaged.length === 0) return;
    await confirmDamage(store, damaged);
    this.#lost.push(...damaged);
  }

  /** Puts objects back that are recorded as damaged here and are intact in the copy. */
  async #restoreDamaged(): Promise<void> {
    const { store } = this.#services;
    for (const { sha256 } of currentDamages(store.read, Number.MAX_SAFE_INTEGER)) await this.#restore(sha256);
  }

  async #restore(sha256: string): Promise<void> {
    const { store } = this.#services;
    const stream = await this.#target.read(objectPath(sha256), this.#run.signal);
    if (stream && (await restoreObject(store, sha256, stream))) this.#result.restored += 1;
  }

  /** Compares all other files with what was sent, and sends those again that differ; then the list, if it must change. */
  async #checkFiles(checkpoint: { size: number; note: string }): Promise<void> {
    const { store } = this.#services;
    const wrongPages = new Set<string>();
    let isRepaired = false;
    for await (const files of this.#files.listed())
      for (const { path } of await this.#different(files)) {
        isRepaired = true;
        if (isPage(path)) wrongPages.add(path);
        else await this.#sendFileAgain(path, checkpoint.size);
      }
    if (wrongPages.size > 0) await this.#sendPagesAgain(wrongPages, checkpoint);
    const list: CopiedFile[] = [];
    for (const file of filesOfList(store.read, this.#copy.id)) {
      // A sync that was interrupted may have recorded an announcement that it did not send.
      const isUnsent = isAnnouncement(file) && (await this.#digestOf(file.path)) === undefined;
      if (file.state === 'kept' && !isUnsent) list.push(file);
    }
    const isListWrong = (await this.#different(list)).length > 0;
    if (!isRepaired && !isListWrong) return;
    await this.#files.writeList(checkpoint.note, { isWhole: isListWrong });
    await this.#files.removeRest();
  }

  /** Reads files back and returns those that are damaged or missing. */
  async #different(files: readonly CopiedFile[]): Promise<CopiedFile[]> {
    const limit = pLimit(this.#target.concurrency);
    const found = await Promise.all(files.map(({ path }) => limit(() => this.#digestOf(path))));
    const different = files.filter(({ sha256 }, index) => found[index] !== sha256);
    for (const file of different) this.#count(file.path, found[files.indexOf(file)]);
    this.#result.checked += files.length;
    this.#run.progress(this.#result.checked, Math.max(this.#total, this.#result.checked));
    return different;
  }

  async #sendFileAgain(path: string, size: number): Promise<void> {
    const { store } = this.#services;
    const jsonl = 'application/jsonl';
    const [, sha256] = METADATA.exec(path) ?? [];
    const [, first, last] = RECORDS.exec(path) ?? [];
    if (first !== undefined) {
      const records = await readRecords(store, { first: Number(first), last: Number(last) }, async () => {});
      try {
        await this.#files.send({ path, payload: records.payload, sha256: records.sha256, type: jsonl });
        await this.#files.sendBatch();
      } finally {
        await records.discard();
      }
    } else if (path.startsWith(TILES)) {
      const bytes = readTile(store, parseTilePath(path.slice(TILES.length)));
      await this.#files.send({ path, payload: { bytes }, type: 'application/octet-stream' });
    } else if (path === CLAIM) {
      const bytes = claimBytes(this.#services, this.#copy.owner_token);
      await this.#files.send({ path, payload: { bytes }, type: 'application/json' });
    } else if (sha256 !== undefined) {
      const metadata = metadataOf(store.read, sha256);
      if (metadata) await this.#files.send(metadata);
    } else if (path === LEFT_OUT) await this.#withheld.sendNames({ isAgain: true });
    else if (path === statePath(size)) await this.#sendStateAgain(size);
    else if (path === KEY) {
      // Only its owner can encrypt the key again. What is there now is not the key.
      await this.#files.removeLater([KEY]);
      await store.write((database) => setKeptKey(database, this.#copy.id, null));
    } else if (encryptedDigest(path) === undefined) await this.#files.removeLater([path]);
  }

  /** The state may have changed since, so it cannot be made again as it was. */
  async #sendStateAgain(size: number): Promise<void> {
    const { store } = this.#services;
    const { size: newest, payload, sha256, discard } = await readState(this.#services);
    try {
      // Otherwise the next sync writes a newer state.
      if (newest !== size) return;
      await this.#files.send({ path: statePath(size), payload, sha256, type: 'application/jsonl' });
      await this.#files.sendBatch();
      await store.write((database) => setSyncedState(database, { id: this.#copy.id, synced_state: sha256 }));
    } finally {
      await discard();
    }
  }

  /** If the pages are behind, the next sync writes them. */
  async #sendPagesAgain(
    paths: ReadonlySet<string>,
    checkpoint: { size: number; note: string },
  ): Promise<void> {
    if (this.#copy.pages === 0 || pagesAreBehind(this.#copy, checkpoint.size)) return;
    const context = pageContext(this.#services, this.#copy, checkpoint);
    for await (const { path, bytes, type } of makePages(context, 0))
      if (paths.has(path)) await this.#files.send({ path, payload: { bytes }, type });
    await this.#files.sendBatch();
  }

  /**
   * Finds what no node wrote there, and what must not be there in the clear. Files stay: this program does not know whose
   * they are. Objects that must not be there are removed by the next sync.
   */
  async #findExtra(): Promise<void> {
    const { store } = this.#services;
    const { id } = this.#copy;
    const own = new Set(filesOfList(store.read, id).map(({ path }) => path));
    const exposed: string[] = [];
    for await (const { path, is } of this.#target.entries(this.#run.signal)) {
      const isOwn = path === CHECKPOINT || own.has(path) || this.#files.wrote(path);
      // A link in place of a file was found to be missing, and replaced.
      if (is === 'folder' || isOwn) continue;
      const wrong = await this.#judgeUnnamed(path, is === 'file');
      if (!wrong) continue;
      this.#result[wrong] += 1;
      this.#name(path, wrong);
      const [, named] = OBJECT.exec(path) ?? [];
      // A file under another name is named in the result. The next sync removes what is under its own.
      if (wrong === 'exposed' && named !== undefined && this.#mustNotBeThere(named)) exposed.push(named);
    }
    if (exposed.length === 0) return;
    await store.write((database) => {
      insertCopiedObjects(database, id, exposed);
      setSending(database, { copy: id, isSending: 1 });
    });
  }

  /** Judges what the list does not have: undefined if it is an object of this copy, or if it is left behind. */
  async #judgeUnnamed(path: string, isFile: boolean): Promise<'exposed' | 'extra' | undefined> {
    const [, named] = OBJECT.exec(path) ?? [];
    const isKnown = named !== undefined && isCopied(this.#services.store.read, this.#copy.id, named);
    if (isKnown && !this.#mustNotBeThere(named)) return undefined;
    const sha256 = isFile ? await this.#digestOf(path) : undefined;
    if (sha256 !== undefined && sha256 !== EMPTY_DIGEST && this.#mustNotBeThere(sha256)) return 'exposed';
    // A sync that was killed leaves objects that it did not record.
    if (isKnown || (named !== undefined && named === sha256 && this.#holds(named))) return undefined;
    return isFile && (await isLeftBehind(this.#target, path)) ? undefined : 'extra';
  }

  /** Whether the bytes of an object must not be in this copy in the clear. */
  #mustNotBeThere(sha256: string): boolean {
    return isReleased(this.#services.store.read, sha256) || this.#withheld.hides(sha256);
  }

  #holds(sha256: string): boolean {
    return blobBytes(this.#services.store.read, sha256) !== undefined;
  }

  #count(path: string, found: string | undefined): void {
    if (found === undefined) this.#result.missing += 1;
    else this.#result.damaged += 1;
    this.#name(path, found === undefined ? 'missing' : 'damaged');
  }

  #name(path: string, is: CopyCheck['wrong'][number]['is']): void {
    if (this.#result.wrong.length < MAX_NAMED_FILES) this.#result.wrong.push({ path, is });
  }

  /** The digest of a file of the copy; undefined if it is missing. */
  async #digestOf(path: string): Promise<string | undefined> {
    return (await this.#target.digestOf(path, this.#run.signal))?.sha256;
  }
}

/** Returns the objects that an archive has neither on its disk nor offloaded, and has not given up. */
async function missingAmong({ read, blobs }: Store, digests: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const sha256 of digests)
    if (
      !existsSync(blobs.fileOf(sha256)) &&
      !isReleased(read, sha256) &&
      !(await blobs.offloaded.isOffloaded(sha256))
    )
      missing.push(sha256);
  return missing;
}

/** After so many errors, a copy is not asked for further objects: an attempt may take a minute. */
const MAX_FAILURES = 3;

/** The number of objects that one run repairs. */
const MAX_REPAIRED = 1_000;

interface CopyRepair {
  store: Store;
  log: Log;
  copies: readonly CopyRow[];
  /** Opens a copy for some work. @throws Problem `copy_failed` */
  withTarget: <Result>(id: string, work: (target: CopyTarget) => Promise<Result>) => Promise<Result>;
  signal: AbortSignal;
}

/**
 * Fetches damaged and missing objects of this archive from its copies, verifies each by its digest and puts it in place.
 * Returns the digests of those that are intact now.
 *
 * @throws the signal's reason; errors of this archive's storage
 */
export async function repairFromCopies({
  store,
  log,
  copies,
  withTarget,
  signal,
}: CopyRepair): Promise<string[]> {
  const restored: string[] = [];
  for (const { id, target: name } of copies) {
    const damaged = currentDamages(store.read, MAX_REPAIRED).filter(({ sha256 }) =>
      isCopied(store.read, id, sha256),
    );
    if (damaged.length === 0) continue;
    try {
      await withTarget(id, async (target) => {
        const failures: CopyError[] = [];
        for (const { sha256 } of damaged) {
          signal.throwIfAborted();
          try {
            const stream = await target.read(objectPath(sha256), signal);
            if (stream && (await restoreObject(store, sha256, stream))) restored.push(sha256);
          } catch (error) {
            // Some of the others may be readable.
            if (!(error instanceof CopyError)) throw error;
            if (failures.push(error) >= MAX_FAILURES) break;
          }
        }
        for (const error of failures) throw error;
      });
    } catch (error) {
      if (signal.aborted || !(error instanceof Problem)) throw error;
      log.warn({ copy: name, error }, 'A copy could not be read to repair damaged objects');
    }
  }
  return restored;
}
