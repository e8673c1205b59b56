import { GIGABYTE } from '../../../shared/limits.ts';
import type {
  BringBackResult,
  ObjectPlaces,
  OffloadResult,
  OffloadState,
} from '../../../shared/node/offload.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import type { JobRun, Jobs, RunningJob } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import { shuttingDown } from '../../runtime/shuttingDown.ts';
import { blobBytes, counter } from '../../store/sqlite/node/blobs.ts';
import { allCopies, copyById, objectCheckedAt } from '../../store/sqlite/node/copies.ts';
import { copiesHolding, objectsOnlyIn } from '../../store/sqlite/node/offloadedObjects.ts';
import { reachedStorageLimit } from '../../store/storageSpace.ts';
import type { Store } from '../../store/store.ts';
import { readCredentials } from '../keys/credentials.ts';
import { openTarget } from '../targets/openTarget.ts';
import { CopyError, type CopyTarget } from '../targets/target.ts';
import { bringBack } from './bringBack.ts';
import { newestDayToLeave } from './newestDayToLeave.ts';
import { offloadObjects } from './offloadObjects.ts';
import { ReadThrough } from './readThrough.ts';

export interface OffloadingConfig {
  store: Store;
  jobs: Jobs;
  log: Log;
  settings: () => Settings;
}

const DAY_MS = 86_400_000;

/** Lets objects that a checked copy holds leave this disk, reads them from there, and brings them back. */
export class Offloading {
  readonly #config: OffloadingConfig;
  readonly #readThrough: ReadThrough;
  /** The last work; the next one waits for it. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting: RunningJob<OffloadResult> | undefined;
  #isClosed = false;

  constructor(config: OffloadingConfig) {
    this.#config = config;
    this.#readThrough = new ReadThrough(config.store);
    config.store.blobs.away.connect(this.#readThrough);
  }

  /** Whether the owner lets objects leave this disk. */
  get isEnabled(): boolean {
    const { offload_after_days, keep_local_gb, audit_every_days } = this.#config.settings();
    return (offload_after_days !== null || keep_local_gb !== null) && audit_every_days > 0;
  }

  state(): OffloadState {
    const { read, blobs, heldBytes } = this.#config.store;
    return {
      away_objects: counter(read, 'offloaded_objects'),
      away_bytes: counter(read, 'offloaded_bytes'),
      local_bytes: heldBytes(),
      cached_bytes: blobs.away.cachedBytes,
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
      this.#config.log.warn(
        { error },
        'Objects could not leave this disk. They stay until the next attempt.',
      ),
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
      const day = await newestDayToLeave(store.read, keepBytes);
      const endOfDay = `${day ?? '0000-01-01'}T23:59:59.999Z`;
      if (endOfDay < storedUntil) storedUntil = endOfDay;
    }
    const rule = { storedUntil, checkedSince: instantOf(now - audit_every_days * DAY_MS) };
    const targets = new Map<string, Promise<CopyTarget>>();
    const open = (copy: string) => {
      const opened = targets.get(copy) ?? this.#open(copy);
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

  async #open(copy: string): Promise<CopyTarget> {
    const { read, folder } = this.#config.store;
    const row = copyById(read, copy);
    if (!row) throw new CopyError('The copy was removed.');
    const credentials = await readCredentials(folder);
    return openTarget({ ...row, ...credentials[copy] });
  }

  /** Ends reading from copies. `Jobs.close` ends running work before. */
  close(): void {
    this.#isClosed = true;
    this.#readThrough.close();
  }
}
