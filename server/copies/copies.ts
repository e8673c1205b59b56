import type { Copy, CopyCheck, CopySync, NewCopy } from '../../shared/node/copy.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../shared/node/settings.ts';
import { Problem } from '../../shared/problems.ts';
import type { JobRun, Jobs, RunningJob } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import { shuttingDown } from '../runtime/shuttingDown.ts';
import {
  allCopies,
  type CopyRow,
  copyAt,
  copyById,
  deleteCopy,
  insertCopy,
  setCopyError,
} from '../store/sqlite/node/copies.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import { objectsOnlyIn } from '../store/sqlite/node/offloadedObjects.ts';
import { checkCopy } from './check.ts';
import { claimTarget } from './claimTarget.ts';
import { readCredentials, writeCredentials } from './credentials.ts';
import type { Offloading } from './offload/offloading.ts';
import type { CopyServices } from './requireOwn.ts';
import { syncCopy } from './sync.ts';
import { openTarget } from './targets/openTarget.ts';
import { CopyError, type CopyTarget } from './targets/target.ts';

export interface CopiesConfig extends CopyServices {
  jobs: Jobs;
  log: Log;
  /** Lets objects leave this disk once a copy was read back. */
  offloading?: Pick<Offloading, 'isEnabled' | 'soon'>;
  settings?: () => Pick<Settings, 'audit_every_days'>;
}

/** How often the node looks whether a copy is behind, and the interval of a copy that has none of its own. */
const LOOK_EVERY_MS = 60_000;
const DEFAULT_EVERY_MINUTES = 5;
const MS_PER_MINUTE = 60_000;
const MS_PER_DAY = 86_400_000;
/** The time between a scheduled check that failed and the next one. */
const CHECK_AGAIN_MS = 21_600_000;

/** The copies of an archive: a folder or a bucket each, kept up to date in the background. */
export class Copies {
  readonly #services: CopyServices;
  readonly #jobs: Jobs;
  readonly #log: Log;
  readonly #offloading: CopiesConfig['offloading'];
  readonly #settings: () => Pick<Settings, 'audit_every_days'>;
  /** The last work of each copy; the next one waits for it. */
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #syncs = new Map<string, RunningJob<CopySync>>();
  readonly #attemptedAt = new Map<string, number>();
  readonly #checkAttemptedAt = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor({ store, checkpoints, jobs, log, offloading, settings }: CopiesConfig) {
    this.#services = { store, checkpoints };
    this.#offloading = offloading;
    this.#settings = settings ?? (() => DEFAULT_SETTINGS);
    this.#jobs = jobs;
    this.#log = log;
  }

  async list(): Promise<Copy[]> {
    const { read, folder } = this.#services.store;
    const credentials = await readCredentials(folder);
    const size = lastEntry(read)?.seq ?? 0;
    return allCopies(read).map((row) => asCopy(row, size, Object.hasOwn(credentials, row.id)));
  }

  /**
   * Adds a copy. The place must be empty, or hold a copy of this archive, which is taken over.
   *
   * @throws Problem `copy_exists`, `copy_failed`
   */
  async add(added: NewCopy): Promise<Copy> {
    const { store } = this.#services;
    const { target, endpoint = null, region = null, every_minutes = null, access_key, secret_key } = added;
    if (copyAt(store.read, target, endpoint))
      throw new Problem('copy_exists', `There is a copy in ${target} already.`);
    const row = {
      id: `cp_${store.randomHex(20)}`,
      target,
      endpoint,
      region,
      every_minutes,
      writer: store.randomHex(32),
      added_at: store.instant(),
    };
    const opened = await asProblem(() => openTarget(added));
    try {
      await asProblem(() => claimTarget(this.#services, row.writer, opened));
    } finally {
      opened.close();
    }
    const credentials = access_key && secret_key ? { access_key, secret_key } : undefined;
    if (credentials) await writeCredentials(store.folder, row.id, credentials);
    await store.write((database) => insertCopy(database, row));
    return asCopy(this.#copy(row.id), lastEntry(store.read)?.seq ?? 0, credentials !== undefined);
  }

  /** Forgets a copy. What it holds stays there. @throws Problem `not_found`, `copy_needed` */
  async remove(id: string): Promise<void> {
    const { store } = this.#services;
    this.#copy(id);
    const running = this.#syncs.get(id);
    if (running) await this.#jobs.cancel(running.job.id);
    await store.write((database) => {
      const needed = objectsOnlyIn(database, id);
      if (needed > 0)
        throw new Problem(
          'copy_needed',
          `${needed} objects have left this disk, and only this copy holds them. Bring them back first.`,
        );
      deleteCopy(database, id);
    });
    await writeCredentials(store.folder, id, undefined);
  }

  /** Starts a sync, or returns the one that is running. @throws Problem `not_found`, `shutting_down` */
  sync(id: string): RunningJob<CopySync> {
    const running = this.#syncs.get(id);
    if (running) return running;
    this.#attemptedAt.set(id, this.#services.store.clock.now());
    const started = this.#start(id, 'copy_sync', (target, run) =>
      syncCopy(this.#services, this.#copy(id), target, run),
    );
    this.#syncs.set(id, started);
    const ended = () => void this.#syncs.delete(id);
    started.finished.then(ended, ended);
    return started;
  }

  /** Starts reading a copy back. @throws Problem `not_found`, `shutting_down` */
  check(id: string, sample?: number): RunningJob<CopyCheck> {
    return this.#start(id, 'copy_check', (target, run) =>
      checkCopy(this.#services, this.#copy(id), target, { ...run, sample }),
    );
  }

  #start<Result>(
    id: string,
    kind: 'copy_sync' | 'copy_check',
    work: (target: CopyTarget, run: JobRun) => Promise<Result>,
  ): RunningJob<Result> {
    if (this.#isClosed) throw shuttingDown();
    this.#copy(id);
    const before = this.#last.get(id);
    const started = this.#jobs.start(kind, kind === 'copy_sync' ? 'bytes' : 'objects', async (run) => {
      await before;
      run.signal.throwIfAborted();
      return this.#withTarget(id, (target) => work(target, run));
    });
    const ended = () => this.#offloading?.soon();
    this.#last.set(id, started.finished.then(ended, ended));
    return started;
  }

  /** Opens the target for some work, and notes why it failed. */
  async #withTarget<Result>(id: string, work: (target: CopyTarget) => Promise<Result>): Promise<Result> {
    const { store } = this.#services;
    try {
      const credentials = await readCredentials(store.folder);
      const target = await openTarget({ ...this.#copy(id), ...credentials[id] });
      try {
        return await work(target);
      } finally {
        target.close();
      }
    } catch (error) {
      if (!(error instanceof CopyError)) throw error;
      await store.write((database) => setCopyError(database, id, error.message));
      throw new Problem('copy_failed', error.message, { cause: error });
    }
  }

  #copy(id: string): CopyRow {
    const row = copyById(this.#services.store.read, id);
    if (!row) throw new Problem('not_found', `There is no copy ${id}.`);
    return row;
  }

  /** Keeps the copies up to date from now on. */
  startFollowing(): void {
    this.#timer = setInterval(() => this.#syncDue(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  #syncDue(): void {
    const { store } = this.#services;
    const size = lastEntry(store.read)?.seq ?? 0;
    for (const copy of allCopies(store.read)) {
      const { id, every_minutes, synced_size } = copy;
      this.#checkIfDue(copy);
      const every = (every_minutes ?? DEFAULT_EVERY_MINUTES) * MS_PER_MINUTE;
      const isDue = store.clock.now() - (this.#attemptedAt.get(id) ?? 0) >= every;
      if (synced_size >= size || !isDue) continue;
      this.sync(id).finished.catch((error: unknown) =>
        this.#log.warn({ error, copy: id }, 'A copy could not be brought up to date.'),
      );
    }
  }

  /** Reads a copy back as often as this archive is audited, if objects may leave this disk for it. */
  #checkIfDue({ id, added_at, read_back_at }: CopyRow): void {
    const everyMs = this.#settings().audit_every_days * MS_PER_DAY;
    if (!this.#offloading?.isEnabled || everyMs === 0) return;
    const now = this.#services.store.clock.now();
    const isAttempted = now - (this.#checkAttemptedAt.get(id) ?? Number.NEGATIVE_INFINITY) < CHECK_AGAIN_MS;
    if (isAttempted || now - Date.parse(read_back_at ?? added_at) < everyMs) return;
    this.#checkAttemptedAt.set(id, now);
    this.check(id).finished.catch((error: unknown) =>
      this.#log.warn({ error, copy: id }, 'A copy could not be read back.'),
    );
  }

  /** Ends running work; `Jobs.close` waits for it. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }
}

function asCopy(
  { writer: _secret, synced_size: size, read_back_at: _internal, ...row }: CopyRow,
  newest: number,
  has_credentials: boolean,
): Copy {
  return { ...row, has_credentials, size, behind: Math.max(0, newest - size) };
}

/** @throws Problem `copy_failed` in place of a CopyError */
async function asProblem<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CopyError) throw new Problem('copy_failed', error.message, { cause: error });
    throw error;
  }
}
