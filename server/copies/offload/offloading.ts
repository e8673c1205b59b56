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
import { restoreObject } from '../../fixity/repair.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import type { JobRun, Jobs, RunningJob } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import { shuttingDown } from '../../runtime/shuttingDown.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { blobBytes, counter } from '../../store/sqlite/node/blobs.ts';
import { allCopies, copyById, objectCheckedAt } from '../../store/sqlite/node/copies.ts';
import {
  copiesHolding,
  localBytesByDay,
  objectsOnlyIn,
  offloadedAfter,
} from '../../store/sqlite/node/offloadedObjects.ts';
import { reachedStorageLimit } from '../../store/storageSpace.ts';
import type { Store } from '../../store/store.ts';
import { openCopyById } from '../openCopy.ts';
import { CopyError, type CopyTarget } from '../targets/target.ts';
import { CopyReader } from './copyReader.ts';
import { offloadObjects } from './offloadObjects.ts';

interface OffloadingConfig {
  store: Store;
  jobs: Jobs;
  log: Log;
  settings: () => Settings;
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
    this.#copyReader = new CopyReader(config.store);
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
    const open = (copy: string) => {
      const opened = targets.get(copy) ?? openCopyById(store, copy);
      targets.set(copy, opened);
      return opened;
    };
    try {
      return await offloadObjects(store, { ...run, rule, keepBytes, open });
    } catch (error) {
      throw error instanceof CopyError ? new Problem('copy_failed', error.message, { cause: error }) : error;
    } finally {
      for (const opened of await Promise.allSettled(targets.values()))
        if (opened.status === 'fulfilled') opened.value.close();
    }
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
