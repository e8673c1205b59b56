import {
  type Copy,
  type CopyChange,
  type CopyCheck,
  type CopySync,
  type LostCopy,
  type NewCopy,
  type RestoreDrill,
} from '../../shared/node/copy.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../shared/node/settings.ts';
import { Problem } from '../../shared/problems.ts';
import { countOf } from '../../shared/values/counts.ts';
import type { Deriver } from '../collection/derived/process/deriver.ts';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import type { JobRun, Jobs, RunningJob } from '../runtime/jobs.ts';
import type { Log } from '../runtime/log.ts';
import type { NetworkPause } from '../runtime/machineState.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { countEncryptedFiles } from '../store/sqlite/node/copiedFiles.ts';
import {
  allCopies,
  type CopyRow,
  changeCopySettings,
  copyAt,
  copyById,
  countInNoCopy,
  countWithheldInTheClear,
  countWithheldLeftOut,
  deleteCopy,
  insertCopy,
  setKeptKey,
} from '../store/sqlite/node/copies.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import { objectsOnlyIn } from '../store/sqlite/node/offloadedObjects.ts';
import type { Store } from '../store/store.ts';
import { checkCopy, repairFromCopies } from './check.ts';
import { assertOwnedByThisNode, type CopyServices } from './claim.ts';
import { CopyFiles, claimTarget } from './copyFiles.ts';
import { KEY } from './copyPaths.ts';
import { CopyQueue, NEW_COPY } from './copyQueue.ts';
import { type DrillInput, type DrillProgress, drillCopy } from './drill/restoreDrill.ts';
import { putKey } from './keys/copyKeys.ts';
import { markCopyLost } from './offload/markLost.ts';
import { Offloading } from './offload/offloading.ts';
import { versionComparer } from './pages/eventPage.ts';
import { CopySchedule } from './schedule.ts';
import { asCopy } from './shownCopy.ts';
import { syncCopy } from './sync.ts';
import {
  type AroundPlace,
  type CopyOpener,
  type Credentials,
  CredentialsWriter,
  isWithin,
  openCopy,
  openTarget,
  readCredentials,
  readersOf,
  realPlace,
} from './targets/openTarget.ts';
import { asCopyProblem, CopyError, type CopyTarget } from './targets/target.ts';

type CopiesSettings = Pick<Settings, 'audit_every_days' | 'drill_every_days' | 'min_free_disk_gb'>;

interface CopiesConfig extends CopyServices {
  jobs: Jobs;
  log: Log;
  /** Offloads objects once a copy was read back. */
  offloading?: Pick<Offloading, 'isEnabled' | 'soon'>;
  settings?: () => CopiesSettings;
  /** Why nothing is sent over the network in the background. */
  networkPause?: (() => Promise<NetworkPause>) | undefined;
  around?: AroundPlace | undefined;
}

/** The copies of an archive: a folder or a bucket each, kept up to date in the background. */
export class Copies {
  readonly #services: CopyServices;
  readonly #opener: CopyOpener;
  readonly #log: Log;
  readonly #schedule: CopySchedule;
  readonly #queue: CopyQueue;
  readonly #credentials: CredentialsWriter;
  readonly #settings: () => CopiesSettings;
  readonly #syncs = new Map<string, RunningJob<CopySync>>();
  readonly #drills = new Map<string, RunningJob<RestoreDrill>>();

  constructor(config: CopiesConfig) {
    const { store, checkpoints, compare, jobs, log, offloading, networkPause, around } = config;
    const { settings = () => DEFAULT_SETTINGS } = config;
    this.#settings = settings;
    this.#services = { store, checkpoints, compare };
    this.#opener = { folder: store.folder, around };
    this.#queue = new CopyQueue(store, this.#opener, jobs, () => offloading?.soon());
    this.#credentials = new CredentialsWriter(store.folder);
    this.#schedule = new CopySchedule({
      store,
      log,
      networkPause,
      settings,
      sync: (id) => this.sync(id),
      check: (id) => this.check(id),
      drill: (id) => this.drill(id),
    });
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
    return asCopy(row, {
      newest,
      key,
      has_credentials,
      paused: this.#schedule.pauseOf(row),
      withheld_left_out: countWithheldLeftOut(store.read, { copy: row.id }),
      withheld_in_no_copy: countInNoCopy(store.read, { copy: row.id }),
      withheld_in_the_clear: countWithheldInTheClear(store.read, { copy: row.id }),
      withheld_encrypted: countEncryptedFiles(store.read, { copy: row.id }),
    });
  }

  /**
   * Adds a copy. The place must be empty, or hold a copy of this archive, which is taken over.
   *
   * @throws Problem `copy_exists`, `copy_failed`
   */
  add(added: NewCopy): Promise<Copy> {
    return this.#queue.run(NEW_COPY, () => this.#add(added));
  }

  async #add(added: NewCopy): Promise<Copy> {
    const { store } = this.#services;
    const { target, endpoint = null, region = null, every_minutes = null, access_key, secret_key } = added;
    const { pages = false, public_url = null } = added;
    await asProblem(() => requireNewPlace(store.read, { target, endpoint }));
    if (await asProblem(() => isWithin(store.folder, added)))
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
      owner_token: store.randomHex(32),
      added_at: store.instant(),
      pages: Number(pages),
      public_url,
    };
    const opened = await asProblem(() =>
      openTarget(added, {
        isNew: true,
        readers: readersOf({ pages: Number(pages) }),
        around: this.#opener.around,
      }),
    );
    try {
      await asProblem(() => claimTarget(this.#services, row.owner_token, opened));
    } finally {
      await opened.close();
    }
    const credentials = access_key && secret_key ? { access_key, secret_key } : undefined;
    await this.#withCredentials(row.id, credentials, () =>
      store.write((database) => {
        requireNew(database, target, endpoint);
        insertCopy(database, row);
      }),
    );
    return this.#shown(this.#queue.copy(row.id), credentials !== undefined);
  }

  /**
   * Changes the settings of a copy. Another endpoint, region or access key ends what is running, and is kept only if the
   * copy is found with it.
   *
   * @throws Problem `not_found`, `copy_exists`, `copy_failed`
   */
  async change(id: string, { access_key, secret_key, pages, ...change }: CopyChange): Promise<Copy> {
    const copy = this.#queue.copy(id);
    const credentials = access_key && secret_key ? { access_key, secret_key } : undefined;
    const { endpoint = copy.endpoint, region = copy.region } = change;
    const isMoved = endpoint !== copy.endpoint || region !== copy.region || credentials !== undefined;
    const save = () =>
      this.#services.store.write((database) => {
        if (change.endpoint !== undefined) requireNew(database, copy.target, change.endpoint, id);
        changeCopySettings(database, id, { ...change, ...(pages !== undefined && { pages: Number(pages) }) });
      });
    if (isMoved) {
      const moved = this.#queue.run(id, async () => {
        await this.#requireFound({ ...this.#queue.copy(id), endpoint, region }, credentials);
        await this.#withCredentials(id, credentials, save);
      });
      await Promise.all([this.#queue.cancel(id), moved]);
    } else await save();
    return this.#one(id);
  }

  /**
   * Keeps an access key, then does what it is for; puts the one before back if that fails. If the process is killed in
   * between, the next start forgets the key of a copy that was never added.
   */
  async #withCredentials(
    id: string,
    credentials: Credentials | undefined,
    save: () => Promise<void>,
  ): Promise<void> {
    if (!credentials) return save();
    const before = (await readCredentials(this.#services.store.folder))[id];
    try {
      await this.#credentials.set(id, credentials);
      await save();
    } catch (error) {
      // If this disk refuses that too, the next start forgets it.
      await this.#credentials.set(id, before).catch(() => undefined);
      throw error;
    }
  }

  /** @throws Problem `copy_exists`; `copy_failed` if the copy is not found at its address with the access key */
  async #requireFound(copy: CopyRow, credentials: Credentials | undefined): Promise<void> {
    const { store } = this.#services;
    requireNew(store.read, copy.target, copy.endpoint, copy.id);
    await asProblem(async () => {
      const target = await openCopy(this.#opener, copy, credentials);
      try {
        await assertOwnedByThisNode(this.#services, copy, target);
      } finally {
        await target.close();
      }
    });
  }

  /** Forgets a copy. What it holds stays there. @throws Problem `not_found`, `copy_needed` */
  async remove(id: string): Promise<void> {
    const { store } = this.#services;
    this.#queue.copy(id);
    requireNotNeeded(store.read, id);
    const removed = this.#queue.run(id, async () => {
      await store.write((database) => {
        requireNotNeeded(database, id);
        deleteCopy(database, id);
      });
      await this.#credentials.set(id, undefined);
    });
    await Promise.all([this.#queue.cancel(id), removed]);
  }

  /**
   * Records the objects that only a lost copy held as damaged, then forgets the copy.
   *
   * @throws Problem `not_found`, `shutting_down`
   */
  markLost(id: string): RunningJob<LostCopy> {
    const cancelled = this.#queue.cancel(id);
    return this.#queue.start(id, 'mark_lost', async (copy, run) => {
      await cancelled;
      const lost = await markCopyLost(this.#services.store, this.#opener, copy, run);
      await this.#credentials.set(id, undefined);
      return lost;
    });
  }

  /** Starts a sync, or returns the one that is running. @throws Problem `not_found`, `shutting_down` */
  sync(id: string): RunningJob<CopySync> {
    const running = this.#syncs.get(id);
    if (running) return running;
    this.#schedule.syncBegins(id);
    const started = this.#queue.start(id, 'copy_sync', (_, run) =>
      this.#queue.withTarget(id, (target) => syncCopy(this.#services, this.#queue.copy(id), target, run)),
    );
    return whileRunning(this.#syncs, id, started);
  }

  /** Starts reading a copy back. @throws Problem `not_found`, `shutting_down` */
  check(id: string, sample?: number): RunningJob<CopyCheck> {
    return this.#queue.start(id, 'copy_check', (_, run) =>
      this.#queue.withTarget(id, (target) =>
        checkCopy(this.#services, this.#queue.copy(id), target, { ...run, sample }),
      ),
    );
  }

  /** Starts a restore drill, or returns the one that is running. @throws Problem `not_found`, `shutting_down` */
  drill(id: string): RunningJob<RestoreDrill> {
    const running = this.#drills.get(id);
    if (running) return running;
    const { around } = this.#opener;
    const services = {
      ...this.#services,
      settings: this.#settings,
      log: this.#log,
      runHere:
        around &&
        (async (input: DrillInput, report: (progress: DrillProgress) => void) => {
          const { runDrill } = await import('./drill/runDrill.ts');
          return runDrill(input, { report, around });
        }),
    };
    const started = this.#queue.start(id, 'copy_drill', (copy, run) => drillCopy(services, copy, run));
    return whileRunning(this.#drills, id, started);
  }

  /**
   * Keeps the key of the archive in a copy, encrypted with a passphrase.
   *
   * @throws Problem `not_found`, `copy_failed`
   */
  async keepKey(id: string, passphrase: string): Promise<Copy> {
    const { store, checkpoints } = this.#services;
    const { verifierKey } = checkpoints.key;
    await this.#withTarget(id, async (target) => {
      const checkpoint = await assertOwnedByThisNode(this.#services, this.#queue.copy(id), target);
      const files = new CopyFiles(this.#services, id, target);
      const hadKey = this.#queue.copy(id).kept_key !== null;
      const put = async (bytes: Buffer) => {
        await files.send({ path: KEY, payload: { bytes }, type: 'application/octet-stream' });
        await files.update(checkpoint?.note);
      };
      const archive = { folder: store.folder, verifierKey };
      const recipient = await putKey(target, archive, { passphrase, put });
      await store.write((database) => setKeptKey(database, id, verifierKey, recipient));
      // An older version opens with an older passphrase.
      if (hadKey && !(await target.forgetVersions([KEY]))) throw olderVersions('The key was stored', target);
    });
    return this.#one(id);
  }

  /**
   * Removes the key of the archive from a copy for good.
   *
   * @throws Problem `not_found`; `copy_failed`, also if an older version of it may be left in a bucket
   */
  async removeKey(id: string): Promise<void> {
    await this.#withTarget(id, async (target) => {
      const checkpoint = await assertOwnedByThisNode(this.#services, this.#queue.copy(id), target);
      const files = new CopyFiles(this.#services, id, target);
      await files.removeLater([KEY]);
      await files.update(checkpoint?.note);
      const isGone = await target.purge([KEY]);
      await this.#services.store.write((database) => setKeptKey(database, id, null));
      if (!isGone) throw olderVersions('The key was removed', target);
    });
  }

  #withTarget<Result>(id: string, work: (target: CopyTarget) => Promise<Result>): Promise<Result> {
    this.#queue.copy(id);
    return this.#queue.run(id, () => this.#queue.withTarget(id, work));
  }

  async #one(id: string): Promise<Copy> {
    const credentials = await readCredentials(this.#services.store.folder);
    return this.#shown(this.#queue.copy(id), Object.hasOwn(credentials, id));
  }

  /** Repairs this archive from its copies in the background, not over a network that is paused. See `repairFromCopies`. */
  repairDamages({ signal }: JobRun): Promise<string[]> {
    const { store } = this.#services;
    return repairFromCopies({
      store,
      log: this.#log,
      copies: allCopies(store.read).filter((copy) => this.#schedule.pauseOf(copy) === null),
      withTarget: (id, work) => this.#withTarget(id, work),
      signal,
    });
  }

  /** Keeps the copies up to date from now on. */
  startFollowing(): void {
    this.#schedule.start();
  }

  /** Forgets the access keys of copies that there are not: this process was killed while one was added or removed. */
  async forgetUnknownCredentials(): Promise<void> {
    const { read } = this.#services.store;
    await this.#queue.run(NEW_COPY, () =>
      this.#credentials.keepOnly((id) => copyById(read, id) !== undefined),
    );
  }

  /** Ends running work; `Jobs.close` waits for it. */
  close(): void {
    this.#queue.close();
    this.#schedule.close();
  }
}

function olderVersions(what: string, { name }: CopyTarget): CopyError {
  return new CopyError(
    `${what}, but the bucket of ${name} may keep older versions of ${KEY}, which this access key may not see or delete. Remove them there.`,
  );
}

/** Keeps a job among those that are running until it has ended. */
function whileRunning<Result>(
  running: Map<string, RunningJob<Result>>,
  id: string,
  started: RunningJob<Result>,
): RunningJob<Result> {
  running.set(id, started);
  const ended = () => void running.delete(id);
  started.finished.then(ended, ended);
  return started;
}

/** @throws Problem `copy_failed` in place of a CopyError */
async function asProblem<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw asCopyProblem(error);
  }
}

/** @throws Problem `copy_exists` if another copy has this address */
function requireNew(database: ReadDatabase, target: string, endpoint: string | null, id?: string): void {
  const found = copyAt(database, target, endpoint);
  if (found && found.id !== id) throw copyExists(found);
}

/** @throws Problem `copy_exists` if another copy is in this place, by whatever address; CopyError */
async function requireNewPlace(
  database: ReadDatabase,
  { target, endpoint }: Pick<CopyRow, 'target' | 'endpoint'>,
): Promise<void> {
  const place = await realPlace({ target });
  for (const copy of allCopies(database))
    if (copy.endpoint === endpoint && (await realPlace(copy)) === place) throw copyExists(copy);
}

function copyExists({ target, endpoint }: CopyRow): Problem {
  const at = endpoint === null ? '' : ` at ${endpoint}`;
  return new Problem('copy_exists', `There is already a copy in ${target}${at}.`);
}

/** @throws Problem `copy_needed` if only this copy holds offloaded objects */
function requireNotNeeded(database: ReadDatabase, id: string): void {
  const needed = objectsOnlyIn(database, id);
  if (needed > 0)
    throw new Problem(
      'copy_needed',
      `Only this copy holds ${countOf(needed, 'offloaded object')}. Restore all to this disk first. If they cannot be read there any more, mark the copy as lost.`,
    );
}

interface OpenCopiesConfig {
  store: Store;
  checkpoints: Checkpoints;
  settings: { readonly current: Settings };
  jobs: Jobs;
  log: Log;
}

/** Opens the copies of an archive: for a node, and for a command that opens the archive itself. */
export function openCopies(
  { store, checkpoints, settings, jobs, log }: OpenCopiesConfig,
  deriver: Deriver,
  { networkPause, around }: Pick<CopiesConfig, 'networkPause' | 'around'> = {},
) {
  const current = () => settings.current;
  const offloading = new Offloading({ store, jobs, log, settings: current, around });
  const compare = versionComparer(store, deriver);
  const copies = new Copies({
    store,
    checkpoints,
    compare,
    jobs,
    log,
    offloading,
    settings: current,
    networkPause,
    around,
  });
  return { copies, offloading };
}
