import { rm } from 'node:fs/promises';
import pLimit from 'p-limit';
import { GIGABYTE } from '../../../shared/limits.ts';
import type {
  BringBackResult,
  ObjectPlaces,
  OffloadResult,
  OffloadState,
} from '../../../shared/node/copy.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { restoreObject } from '../../fixity/damages.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { type JobRun, type Jobs, type RunningJob, shuttingDown } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { blobBytes, counter } from '../../store/sqlite/node/blobs.ts';
import {
  allCopies,
  copyById,
  objectCheckedAt,
  setCopyError,
  setObjectUnchecked,
} from '../../store/sqlite/node/copies.ts';
import {
  type Candidate,
  copiesHolding,
  forgetOffloaded,
  insertOffloaded,
  localBytesByDay,
  notRemoved,
  type OffloadRule,
  objectsOnlyIn,
  offloadCandidates,
  offloadedAfter,
  setRemoved,
} from '../../store/sqlite/node/offloadedObjects.ts';
import { reachedStorageLimit, type Store } from '../../store/store.ts';
import { objectPath } from '../copyPaths.ts';
import { type AroundPlace, openCopyById } from '../targets/openTarget.ts';
import { asCopyProblem, CopyError, type CopyTarget } from '../targets/target.ts';
import { CopyReader, hashPieces, type PieceDigests } from './copyReader.ts';

interface OffloadingConfig {
  store: Store;
  jobs: Jobs;
  log: Log;
  settings: () => Settings;
  around?: AroundPlace | undefined;
}

const DAY_MS = 86_400_000;

/** Offloads objects that a checked copy holds, reads them from there, and restores them. */
export class Offloading {
  readonly #config: OffloadingConfig;
  readonly #copyReader: CopyReader;
  /** The last work; the next one waits for it. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting: RunningJob<OffloadResult> | undefined;
  #isClosed = false;

  constructor(config: OffloadingConfig) {
    this.#config = config;
    const { store, around } = config;
    this.#copyReader = new CopyReader(store, {
      around,
      onError: (copy, sentence) => this.#recordError(copy, sentence),
    });
    config.store.blobs.offloaded.connect(this.#copyReader);
  }

  /** Whether the owner lets objects be offloaded. */
  get isEnabled(): boolean {
    const { offload_after_days, keep_local_gb, audit_every_days } = this.#config.settings();
    return (offload_after_days !== null || keep_local_gb !== null) && audit_every_days > 0;
  }

  state(): OffloadState {
    const { read, blobs, heldBytes } = this.#config.store;
    return {
      offloaded_objects: counter(read, 'offloaded_objects'),
      offloaded_bytes: counter(read, 'offloaded_bytes'),
      local_bytes: heldBytes(),
      cached_bytes: blobs.offloaded.cachedBytes,
      only_in: allCopies(read).map(({ id, target }) => ({
        copy: id,
        target,
        objects: objectsOnlyIn(read, id),
      })),
    };
  }

  /** Returns the places that hold an object. @throws Problem `not_found` */
  async placesOf(sha256: string): Promise<ObjectPlaces> {
    const { read, blobs } = this.#config.store;
    const bytes = blobBytes(read, sha256);
    if (bytes === undefined) throw new Problem('not_found', 'The archive holds no object with this digest.');
    const copies = copiesHolding(read, sha256).map((copy) => ({
      copy,
      target: copyById(read, copy)?.target ?? '',
      checked_at: objectCheckedAt(read, copy, sha256) ?? null,
    }));
    return { sha256, bytes, is_here: (await blobs.bytesOf(sha256)) !== undefined, copies };
  }

  /** Starts letting objects leave, or returns the job that has not begun yet. @throws Problem `shutting_down` */
  start(): RunningJob<OffloadResult> {
    if (this.#waiting) return this.#waiting;
    const started = this.#start('offload', (run) => {
      this.#waiting = undefined;
      return this.#offload(run);
    });
    this.#waiting = started;
    return started;
  }

  /** Starts bringing all objects back. @throws Problem `shutting_down` */
  bringBack(): RunningJob<BringBackResult> {
    const { store, settings } = this.#config;
    return this.#start('bring_back', (run) =>
      bringBack(store, run, async (bytes) => {
        const limit = reachedStorageLimit(store, settings(), bytes);
        if (limit)
          throw new Problem(
            limit,
            'This disk has no space for all objects. Free some space, or raise the limit.',
          );
      }),
    );
  }

  /** Starts offloading in the background if the owner allows it. */
  soon(): void {
    if (!this.isEnabled || this.#isClosed) return;
    this.start().finished.catch((error: unknown) =>
      this.#config.log.warn({ error }, 'Objects could not be offloaded. They stay until the next attempt.'),
    );
  }

  #start<Result>(kind: 'offload' | 'bring_back', work: (run: JobRun) => Promise<Result>): RunningJob<Result> {
    if (this.#isClosed) throw shuttingDown();
    const before = this.#last;
    const started = this.#config.jobs.start(kind, 'objects', async (run) => {
      await before;
      run.signal.throwIfAborted();
      return work(run);
    });
    const ended = () => {
      if (this.#waiting?.job.id === started.job.id) this.#waiting = undefined;
    };
    this.#last = started.finished.then(ended, ended);
    return started;
  }

  async #offload(run: JobRun): Promise<OffloadResult> {
    const { store, settings } = this.#config;
    const { offload_after_days, keep_local_gb, audit_every_days } = settings();
    if (!this.isEnabled) return { objects: 0, bytes: 0, refused: 0 };
    const now = store.clock.now();
    const keepBytes = (keep_local_gb ?? 0) * GIGABYTE;
    let storedUntil = instantOf(now - (offload_after_days ?? 0) * DAY_MS);
    if (keep_local_gb !== null) {
      const day = await lastDayToOffload(store.read, keepBytes);
      const endOfDay = `${day ?? '0000-01-01'}T23:59:59.999Z`;
      if (endOfDay < storedUntil) storedUntil = endOfDay;
    }
    const rule = { storedUntil, checkedSince: instantOf(now - audit_every_days * DAY_MS) };
    const targets = new Map<string, Promise<CopyTarget>>();
    const opener = { folder: store.folder, around: this.#config.around };
    const open = (copy: string) => {
      const opened = targets.get(copy) ?? openCopyById(opener, store, copy);
      targets.set(copy, opened);
      return opened;
    };
    try {
      const failed = new Map<string, CopyError>();
      const result = await offloadObjects(store, { ...run, rule, keepBytes, open, failed });
      for (const [copy, { message }] of failed) await this.#recordError(copy, message);
      for (const error of failed.values()) throw asCopyProblem(error);
      return result;
    } finally {
      for (const opened of await Promise.allSettled(targets.values()))
        if (opened.status === 'fulfilled') await opened.value.close();
    }
  }

  /** Keeps why a copy could not be read. */
  async #recordError(copy: string, sentence: string): Promise<void> {
    const { store } = this.#config;
    if (copyById(store.read, copy)?.last_error === sentence) return;
    await store.write((database) => setCopyError(database, { id: copy, last_error: sentence }));
  }

  /** Ends reading from copies. `Jobs.close` ends running work before. */
  close(): void {
    this.#isClosed = true;
    this.#copyReader.close();
  }
}

const PAGE = 1_000;

/**
 * Returns the newest day (`2026-11-22`) of which objects have to leave so that the newest ones of `keepBytes` stay;
 * undefined if none has to. Reads all rows, a page at a time.
 */
async function lastDayToOffload(database: ReadDatabase, keepBytes: number): Promise<string | undefined> {
  const bytesByDay = new Map<string, number>();
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page = localBytesByDay(database, after, PAGE);
    for (const { day, bytes } of page.days) bytesByDay.set(day, (bytesByDay.get(day) ?? 0) + bytes);
    after = page.last;
    await yieldToEventLoop();
  }
  let kept = 0;
  for (const [day, bytes] of [...bytesByDay].sort(([left], [right]) => (left < right ? 1 : -1))) {
    kept += bytes;
    if (kept > keepBytes) return day;
  }
  return undefined;
}

const RETURNED_AT_ONCE = 100;

/**
 * Restores all offloaded objects. Each is on stable storage before it is recorded as being here.
 *
 * @throws Problem `copy_unreachable`, `disk_nearly_full`; the signal's reason. What came back until then stays.
 */
async function bringBack(
  store: Store,
  { signal, progress }: JobRun,
  requireSpace: (bytes: number) => Promise<void>,
): Promise<BringBackResult> {
  const result: BringBackResult = { objects: 0, bytes: 0, missing: 0 };
  const total = counter(store.read, 'offloaded_objects');
  for (let after = ''; ; ) {
    const page = offloadedAfter(store.read, after, RETURNED_AT_ONCE);
    const last = page.at(-1);
    if (last === undefined) return result;
    for (const sha256 of page) {
      signal.throwIfAborted();
      const bytes = store.blobs.offloaded.bytesOf(sha256);
      if (bytes === undefined) continue;
      await requireSpace(bytes);
      if (await bringOne(store, sha256)) {
        result.objects += 1;
        result.bytes += bytes;
      } else result.missing += 1;
      progress(result.objects + result.missing, total);
    }
    after = last;
  }
}

/** Returns false if every copy of the object is damaged. */
async function bringOne(store: Store, sha256: string): Promise<boolean> {
  try {
    return await restoreObject(store, sha256, store.blobs.offloaded.stream(sha256));
  } catch (error) {
    if (error instanceof Problem && error.code === 'blob_damaged') return false;
    throw error;
  }
}

interface OffloadRun extends JobRun {
  rule: OffloadRule;
  /** No object leaves while the objects on this disk take no more than this. */
  keepBytes: number;
  /** Opens a copy to be read, once. @throws CopyError */
  open: (copy: string) => Promise<CopyTarget>;
  /** The copies that could not be read. They are not asked again: an attempt may take a minute. */
  failed: Map<string, CopyError>;
}

/** The objects that are recorded in one transaction. */
const BATCH = 64;

/**
 * Offloads objects. Each is read back from a copy and hashed. Then it is recorded as offloaded, and only once
 * that is on stable storage its file is deleted. After a crash between the two, the file is deleted by the next run, after
 * the copy was read back again.
 *
 * @throws the signal's reason. What left until then is recorded.
 */
async function offloadObjects(store: Store, run: OffloadRun): Promise<OffloadResult> {
  const result: OffloadResult = { objects: 0, bytes: 0, refused: 0 };
  await removeLeftFiles(store, run);
  for (let after = ''; ; ) {
    const { last, candidates } = offloadCandidates(store.read, run.rule, after, PAGE);
    if (last === undefined) return result;
    for (let first = 0; first < candidates.length; first += BATCH) {
      run.signal.throwIfAborted();
      const excess = store.heldBytes() - run.keepBytes;
      const batch = fitting(candidates.slice(first, first + BATCH), excess);
      if (batch.length === 0) return result;
      await offloadBatch(store, run, batch, result);
      run.progress(result.objects, null);
    }
    after = last;
    await yieldToEventLoop();
  }
}

/** Returns as many objects as must leave for this number of bytes. */
function fitting(candidates: readonly Candidate[], excess: number): Candidate[] {
  let left = excess;
  return candidates.filter(({ bytes }) => {
    if (left <= 0) return false;
    left -= bytes;
    return true;
  });
}

async function offloadBatch(
  store: Store,
  run: OffloadRun,
  batch: readonly Candidate[],
  result: OffloadResult,
): Promise<void> {
  const read = await readBack(run, batch);
  const wrong = batch.filter(
    ({ sha256, copy }, index) => !run.failed.has(copy) && read[index]?.sha256 !== sha256,
  );
  const at = store.instant();
  const left = await store.write((database) => {
    for (const { sha256, copy } of wrong) setObjectUnchecked(database, copy, sha256);
    return batch.filter(({ sha256, copy }, index) => {
      const digests = read[index];
      return digests?.sha256 === sha256 && insertOffloaded(database, copy, { ...digests, at });
    });
  });
  await deleteFiles(
    store,
    left.map(({ sha256 }) => sha256),
  );
  result.refused += wrong.length;
  result.objects += left.length;
  result.bytes += left.reduce((sum, { bytes }) => sum + bytes, 0);
}

async function readBack(
  { open, signal, failed }: OffloadRun,
  batch: readonly Candidate[],
): Promise<(PieceDigests | undefined)[]> {
  const limit = pLimit(READS_AT_ONCE);
  const readOne = async ({ sha256, copy }: Candidate) => {
    signal.throwIfAborted();
    if (failed.has(copy)) return undefined;
    try {
      const stream = await (await open(copy)).read(objectPath(sha256), signal);
      return stream && (await hashPieces(stream));
    } catch (error) {
      if (!(error instanceof CopyError)) throw error;
      failed.set(copy, error);
      return undefined;
    }
  };
  try {
    return await Promise.all(batch.map((candidate) => limit(() => readOne(candidate))));
  } catch (error) {
    limit.clearQueue();
    throw error;
  }
}

const READS_AT_ONCE = 8;

/** Deletes the files of objects that are recorded as offloaded. */
async function deleteFiles(store: Store, digests: readonly string[]): Promise<void> {
  const { offloaded } = store.blobs;
  for (const sha256 of digests)
    await offloaded.exclusively(sha256, async () => {
      // An upload may have brought it back meanwhile.
      if (offloaded.bytesOf(sha256) !== undefined) await rm(store.blobs.fileOf(sha256), { force: true });
    });
  if (digests.length > 0) await store.write((database) => setRemoved(database, digests));
}

/** Deletes files that an interrupted run left, if the copy still holds the object; otherwise it stays here. */
async function removeLeftFiles(store: Store, { signal }: OffloadRun): Promise<void> {
  for (let left = notRemoved(store.read, BATCH); left.length > 0; left = notRemoved(store.read, BATCH)) {
    for (const sha256 of left) {
      signal.throwIfAborted();
      if (await isElsewhere(store, sha256)) await deleteFiles(store, [sha256]);
      else await stay(store, sha256);
    }
  }
}

/** @throws Problem `copy_unreachable`; the file then stays */
async function isElsewhere({ blobs }: Store, sha256: string): Promise<boolean> {
  try {
    return (await hashPieces(blobs.offloaded.stream(sha256))).sha256 === sha256;
  } catch (error) {
    if (error instanceof Problem && error.code === 'blob_damaged') return false;
    throw error;
  }
}

async function stay(store: Store, sha256: string): Promise<void> {
  const { offloaded } = store.blobs;
  await offloaded.exclusively(sha256, async () => {
    const isOffloaded = await offloaded.isOffloaded(sha256);
    await store.write((database) =>
      isOffloaded ? setRemoved(database, [sha256]) : forgetOffloaded(database, sha256),
    );
  });
}
