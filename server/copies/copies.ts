import type { Copy, CopyChange, CopyCheck, CopySync, LostCopy, NewCopy } from '../../shared/node/copy.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../shared/node/settings.ts';
import { Problem } from '../../shared/problems.ts';
import type { JobRun, Jobs, RunningJob } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import {
  allCopies,
  type CopyRow,
  copyAt,
  deleteCopy,
  insertCopy,
  setKeptKey,
} from '../store/sqlite/node/copies.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import { objectsOnlyIn } from '../store/sqlite/node/offloadedObjects.ts';
import { asCopy } from './asCopy.ts';
import { changeCopy } from './changeCopy.ts';
import { checkCopy } from './check.ts';
import { claimTarget } from './claimTarget.ts';
import { KEY } from './copyPaths.ts';
import { CopyTurns } from './copyTurns.ts';
import { readCredentials, writeCredentials } from './keys/credentials.ts';
import { putKey } from './keys/ownerKey.ts';
import type { NetworkPause } from './networkPause.ts';
import { giveUpCopy } from './offload/giveUp.ts';
import type { Offloading } from './offload/offloading.ts';
import { repairFromCopies } from './repairFromCopies.ts';
import { type CopyServices, requireOwn } from './requireOwn.ts';
import { CopySchedule } from './schedule.ts';
import { syncCopy } from './sync.ts';
import { isWithin, openTarget } from './targets/openTarget.ts';
import { CopyError } from './targets/target.ts';

export interface CopiesConfig extends CopyServices {
  jobs: Jobs;
  log: Log;
  /** Lets objects leave this disk once a copy was read back. */
  offloading?: Pick<Offloading, 'isEnabled' | 'soon'>;
  settings?: () => Pick<Settings, 'audit_every_days'>;
  /** Why nothing is sent over the network in the background. */
  networkPause?: (() => Promise<NetworkPause>) | undefined;
}

/** The copies of an archive: a folder or a bucket each, kept up to date in the background. */
export class Copies {
  readonly #services: CopyServices;
  readonly #jobs: Jobs;
  readonly #log: Log;
  readonly #schedule: CopySchedule;
  readonly #turns: CopyTurns;
  readonly #syncs = new Map<string, RunningJob<CopySync>>();

  constructor(config: CopiesConfig) {
    const { store, checkpoints, compare, jobs, log, offloading, settings, networkPause } = config;
    this.#services = { store, checkpoints, compare };
    this.#turns = new CopyTurns(store, jobs, () => offloading?.soon());
    this.#schedule = new CopySchedule({
      store,
      log,
      networkPause,
      settings: settings ?? (() => DEFAULT_SETTINGS),
      isOffloading: () => offloading?.isEnabled === true,
      sync: (id) => this.sync(id),
      check: (id) => this.check(id),
    });
    this.#jobs = jobs;
    this.#log = log;
  }

  async list(): Promise<Copy[]> {
    const { read, folder } = this.#services.store;
    const credentials = await readCredentials(folder);
    return allCopies(read).map((row) => this.#shown(row, Object.hasOwn(credentials, row.id)));
  }

  #shown(row: CopyRow, has_credentials: boolean): Copy {
    const { store, checkpoints } = this.#services;
    const newest = lastEntry(store.read)?.seq ?? 0;
    const key = checkpoints.key.verifierKey;
    return asCopy(row, { newest, key, has_credentials, paused: this.#schedule.pauseOf(row) });
  }

  /**
   * Adds a copy. The place must be empty, or hold a copy of this archive, which is taken over.
   *
   * @throws Problem `copy_exists`, `copy_failed`
   */
  async add(added: NewCopy): Promise<Copy> {
    const { store } = this.#services;
    const { target, endpoint = null, region = null, every_minutes = null, access_key, secret_key } = added;
    const { pages = false, public_url = null } = added;
    if (copyAt(store.read, target, endpoint))
      throw new Problem('copy_exists', `There is a copy in ${target} already.`);
    if (isWithin(store.folder, added))
      throw new Problem(
        'copy_failed',
        'A copy within the data folder is lost with it. Choose another place.',
      );
    const row = {
      id: `cp_${store.randomHex(20)}`,
      target,
      endpoint,
      region,
      every_minutes,
      writer: store.randomHex(32),
      added_at: store.instant(),
      pages: Number(pages),
      public_url,
    };
    const opened = await asProblem(() => openTarget(added, { isNew: true }));
    try {
      await asProblem(() => claimTarget(this.#services, row.writer, opened));
    } finally {
      opened.close();
    }
    const credentials = access_key && secret_key ? { access_key, secret_key } : undefined;
    if (credentials) await writeCredentials(store.folder, row.id, credentials);
    await store.write((database) => insertCopy(database, row));
    return this.#shown(this.#turns.copy(row.id), credentials !== undefined);
  }

  /**
   * Changes the settings of a copy. Another endpoint, region or access key is kept only if the copy is found with it.
   *
   * @throws Problem `not_found`, `copy_exists`, `copy_failed`
   */
  async change(id: string, change: CopyChange): Promise<Copy> {
    const copy = this.#turns.copy(id);
    await asProblem(() => changeCopy(this.#services, copy, change));
    return this.#one(id);
  }

  /** Forgets a copy. What it holds stays there. @throws Problem `not_found`, `copy_needed` */
  async remove(id: string): Promise<void> {
    const { store } = this.#services;
    this.#turns.copy(id);
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

  /**
   * Gives up a copy that is lost: records the objects that only it held as damaged, then forgets it.
   *
   * @throws Problem `not_found`, `shutting_down`
   */
  giveUp(id: string): RunningJob<LostCopy> {
    const { copy, before } = this.#turns.next(id);
    const syncing = this.#syncs.get(id);
    return this.#jobs.start('give_up', 'objects', async (run) => {
      if (syncing) await this.#jobs.cancel(syncing.job.id);
      await before;
      run.signal.throwIfAborted();
      return giveUpCopy(this.#services.store, copy, run);
    });
  }

  /** Starts a sync, or returns the one that is running. @throws Problem `not_found`, `shutting_down` */
  sync(id: string): RunningJob<CopySync> {
    const running = this.#syncs.get(id);
    if (running) return running;
    this.#schedule.syncBegins(id);
    const started = this.#turns.start(id, 'copy_sync', (target, run) =>
      syncCopy(this.#services, this.#turns.copy(id), target, run),
    );
    this.#syncs.set(id, started);
    const ended = () => void this.#syncs.delete(id);
    started.finished.then(ended, ended);
    return started;
  }

  /** Starts reading a copy back. @throws Problem `not_found`, `shutting_down` */
  check(id: string, sample?: number): RunningJob<CopyCheck> {
    return this.#turns.start(id, 'copy_check', (target, run) =>
      checkCopy(this.#services, this.#turns.copy(id), target, { ...run, sample }),
    );
  }

  /**
   * Keeps the key of the archive in a copy, encrypted with a passphrase.
   *
   * @throws Problem `not_found`, `copy_failed`
   */
  async keepKey(id: string, passphrase: string): Promise<Copy> {
    const { store, checkpoints } = this.#services;
    const { verifierKey } = checkpoints.key;
    await this.#turns.run(id, async (target) => {
      await requireOwn(this.#services, this.#turns.copy(id), target);
      await putKey(target, { folder: store.folder, verifierKey }, passphrase);
      await store.write((database) => setKeptKey(database, id, verifierKey));
    });
    return this.#one(id);
  }

  /** Removes the key of the archive from a copy. @throws Problem `not_found`, `copy_failed` */
  async removeKey(id: string): Promise<void> {
    await this.#turns.run(id, async (target) => {
      await requireOwn(this.#services, this.#turns.copy(id), target);
      await target.remove(KEY);
      await target.settle();
      await this.#services.store.write((database) => setKeptKey(database, id, null));
    });
  }

  async #one(id: string): Promise<Copy> {
    const credentials = await readCredentials(this.#services.store.folder);
    return this.#shown(this.#turns.copy(id), Object.hasOwn(credentials, id));
  }

  /** Repairs this archive from its copies in the background, not over a network that is paused. See `repairFromCopies`. */
  repairDamages({ signal }: JobRun): Promise<string[]> {
    const { store } = this.#services;
    return repairFromCopies({
      store,
      log: this.#log,
      copies: allCopies(store.read).filter((copy) => this.#schedule.pauseOf(copy) === null),
      withTarget: (id, work) => this.#turns.run(id, work),
      signal,
    });
  }

  /** Keeps the copies up to date from now on. */
  startFollowing(): void {
    this.#schedule.start();
  }

  /** Ends running work; `Jobs.close` waits for it. */
  close(): void {
    this.#turns.close();
    this.#schedule.close();
  }
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
