import { readFile } from 'node:fs/promises';
import { uptime } from 'node:os';
import { type Duplex, duplexPair } from 'node:stream';
import type { AlertMessage } from '../shared/alerts/alert.ts';
import { type Clock, systemClock } from '../shared/values/clock.ts';
import { openArchiveForWriting } from './collection/record/coverRetrievals.ts';
import { followUnseen } from './collection/timeline/seen.ts';
import { DEFAULT_HOST, type NodeConfig } from './config.ts';
import type { AskedJob } from './http/app.ts';
import { type Listeners, newServer } from './http/security/listeners.ts';
import { recordedKey } from './ledger/detectRollback.ts';
import type { ArchiveConfig, OpenArchive } from './ledger/openArchive.ts';
import { every } from './runtime/background.ts';
import { createLog, RecentLog } from './runtime/log.ts';
import { databaseFile } from './store/files.ts';
import { describeRollback, hasDatabase } from './store/opening/inspectFolder.ts';
import { markUnsettled } from './store/sqlite/engine/writeAheadLog.ts';
import { listenAway, openAnswering, type ServedArchive, serveArchive } from './wiring/serveArchive.ts';

/** The system clock of a program that runs for long, during which the time may be set. */
const machineClock: Clock = { ...systemClock, uptime: () => uptime() * 1_000 };

/** A running node. */
export interface RunningNode {
  url: string;
  dataFolder: string;
  tokenFile: string;
  /** The public address behind a proxy, or undefined. */
  readonly publicUrl: string | undefined;
  /** The HTTPS URL of the node on this machine and the SHA-256 of its certificate; undefined without TLS. */
  readonly tls: { url: string; fingerprint: string } | undefined;
  /** Creates a link that signs one browser in as the owner, once. Its path also works at the public address. */
  createSignInLink(): string;
  /** Shows the alerts for this desktop from now on. Those that wait are shown first. */
  showAlerts(show: (message: AlertMessage) => void): void;
  /** Calls the listener with the number of events that the owner has not seen: now, and when it has changed. */
  onUnseen(listener: (count: number) => void): void;
  /** Calls the listener when the data folder is found to be gone (true), and when the node goes on (false). */
  onAway(listener: (isAway: boolean) => void): void;
  /** Before the machine sleeps, and after: no round begins meanwhile, and what became due is spread. */
  suspend(): void;
  resume(): void;
  /** Stops accepting requests, finishes running work and closes the database. */
  close(): Promise<void>;
}

/**
 * Opens a data folder and serves it. If the folder vanishes, as with a disk that is pulled out, the node says so, stops
 * everything, and opens the archive again when the disk is back. With `wiring/`, this is the only place where the services are
 * wired together.
 *
 * @throws what `openArchive` throws, and what `listen` throws (such as a port in use)
 */
export async function openNode(config: NodeConfig): Promise<RunningNode> {
  const log = new RecentLog(config.log ?? createLog(), config.logFile);
  const archive = await openFolder(config, log);
  return new RestartableNode(config, log, await serve(config, archive, log));
}

/** An archive that this process has opened for itself: it is on no network, and nothing runs in the background. */
export interface OwnNode {
  /** Opens a connection for requests, in memory: it has no address that others could reach. */
  connect(): Duplex;
  tokenFile: string;
  close(): Promise<void>;
}

/** Opens a data folder for this process alone. @throws what `openArchive` throws, FolderInUseError among it */
export async function openOwnNode(config: NodeConfig): Promise<OwnNode> {
  const log = new RecentLog(config.log ?? createLog());
  const archive = await openFolder(config, log);
  const opened = await openAnswering(config, archive, surroundingsOf(config, log));
  const server = newServer(undefined).on('request', opened.answer);
  const connect = () => {
    const [own, theirs] = duplexPair();
    // Guards let the owner's machine in by its address.
    server.emit('connection', Object.assign(theirs, { remoteAddress: DEFAULT_HOST }));
    return own;
  };
  return { connect, tokenFile: opened.services.keys.tokenFile, close: () => opened.close() };
}

async function openFolder(
  config: NodeConfig,
  log: RecentLog,
  requireKnown?: ArchiveConfig['requireKnown'],
): Promise<OpenArchive> {
  const archive = await openArchiveForWriting({
    folder: config.dataFolder,
    clock: config.clock ?? machineClock,
    random: config.random,
    warn: (details, sentence) => log.warn(details, sentence),
    acceptRollback: config.acceptRollback,
    requireKnown,
  });
  if (archive.keyChange) log.warn(archive.keyChange, 'A rollback was accepted: the archive has a new key.');
  return archive;
}

function serve(config: NodeConfig, archive: OpenArchive, log: RecentLog): Promise<ServedArchive> {
  return serveArchive(config, archive, surroundingsOf(config, log));
}

function surroundingsOf({ clock = machineClock }: NodeConfig, log: RecentLog) {
  return { clock, log };
}

/** How often the node looks whether its data folder is there. */
const LOOK_EVERY_MS = 2_000;

/** The time that answers have to finish before the archive is served again. */
const LEAVE_GRACE_MS = 500;

/** A node whose archive is closed while its data folder is away, and opened again at the same address. */
class RestartableNode implements RunningNode {
  readonly url: string;
  readonly dataFolder: string;
  readonly tokenFile: string;
  readonly #config: NodeConfig;
  readonly #log: RecentLog;
  /** The archive that is open, or was until its folder vanished. */
  #served: ServedArchive;
  /** What answers while the folder is away; undefined while it is there. */
  #away: Pick<Listeners, 'close'> | undefined;
  /** Why the archive was not opened again at the last attempt, which is logged once. */
  #reason = '';
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;
  #show: ((message: AlertMessage) => void) | undefined;
  #unseen: ((count: number) => void) | undefined;
  #stopCounting = () => {};
  #isSuspended = false;
  readonly #onAway: ((isAway: boolean) => void)[] = [];

  constructor(config: NodeConfig, log: RecentLog, served: ServedArchive) {
    this.url = served.url;
    this.dataFolder = config.dataFolder;
    this.tokenFile = served.services.keys.tokenFile;
    const port = Number(new URL(served.url).port);
    // What is for one opening is not for the next ones: a code that was used would sign in again.
    this.#config = { ...config, acceptRollback: false, signInCode: undefined, port };
    this.#log = log;
    this.#served = served;
    const failed = (error: unknown) =>
      log.error({ error }, 'It could not be found out whether the data folder is there.');
    this.#timer = every(config.lookEveryMs ?? LOOK_EVERY_MS, () => this.#look(), failed).unref();
  }

  get tls() {
    return this.#served.services.listeners.tls;
  }

  get publicUrl() {
    return this.#served.services.publicAddress.origin;
  }

  showAlerts(show: (message: AlertMessage) => void): void {
    this.#show = show;
    this.#served.services.alerts.showOnDesktop(show);
  }

  onUnseen(listener: (count: number) => void): void {
    this.#unseen = listener;
    this.#stopCounting();
    this.#stopCounting = followUnseen(this.#served.services, listener);
  }

  onAway(listener: (isAway: boolean) => void): void {
    this.#onAway.push(listener);
  }

  suspend(): void {
    this.#isSuspended = true;
    this.#served.services.collection.suspend();
  }

  resume(): void {
    this.#isSuspended = false;
    this.#served.services.collection.resume();
  }

  createSignInLink(): string {
    return `${this.url}/sign-in/${this.#served.services.keys.createSignInCode()}`;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    this.#stopCounting();
    await (this.#away ?? this.#served).close();
  }

  #look(): Promise<void> {
    this.#looking ??= (this.#away ? this.#comeBack() : this.#leaveIfAway()).finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #leaveIfAway(): Promise<void> {
    const { store, listeners } = this.#served.services;
    if (!store.presence.isAway && store.hasFailed()) await store.presence.tryWriting();
    if (!store.presence.isAway) return;
    this.#away = listeners;
    this.#reason = '';
    const { dataFolder: folder } = this;
    this.#log.error(
      { folder },
      'The data folder is gone. Connect its disk again: the node then goes on by itself.',
    );
    this.#stopCounting();
    this.#tell(true);
    await this.#served
      .leave()
      .catch((error: unknown) =>
        this.#log.warn(
          { error },
          'Not everything could be closed properly, because the data folder is gone.',
        ),
      );
  }

  /** An error of a listener keeps neither the archive open nor the others from being told. */
  #tell(isAway: boolean): void {
    for (const listener of this.#onAway) {
      try {
        listener(isAway);
      } catch (error) {
        this.#log.error({ error }, 'It could not be shown whether the data folder is there.');
      }
    }
  }

  async #comeBack(): Promise<void> {
    try {
      // Nothing is created in place of the folder.
      if (hasDatabase(this.dataFolder)) await this.#openAgain();
      else this.#reason = '';
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== this.#reason)
        this.#log.error({ error }, 'The data folder is back, but cannot be opened. The node tries again.');
      this.#reason = reason;
    }
  }

  async #openAgain(): Promise<void> {
    const left = this.#served;
    const { store, key } = left.services;
    const archive = await openFolder(this.#config, this.#log, (inspected) => {
      const reason = describeRollback(inspected, store.head());
      if (reason) throw new Error(`Another archive, or an older copy, is in ${this.dataFolder}: ${reason}`);
      // Without an entry, only the key tells one archive from another.
      if (store.head().seq === 0 && recordedKey(inspected) !== key.verifierKey)
        throw new Error(`Another archive is in ${this.dataFolder}.`);
      if (store.hasFailed()) markUnsettled(databaseFile(this.dataFolder));
    });
    // It never rejects, so the archive does not stay open and locked. What still runs began before and can only fail.
    await this.#away?.close(LEAVE_GRACE_MS);
    try {
      this.#served = await serve(this.#config, archive, this.#log);
    } catch (error) {
      this.#away = await listenAway(this.#config, this.#log);
      throw error;
    }
    this.#away = undefined;
    if (this.#isSuspended) this.suspend();
    if (this.#show) this.showAlerts(this.#show);
    if (this.#unseen) this.onUnseen(this.#unseen);
    this.#log.warn({ folder: this.dataFolder }, 'The data folder is back. The node goes on.');
    this.#tell(false);
    this.#served.services.jobs.adopt(left.services.jobs.list());
    for (const asked of left.unfinishedJobs()) await this.#askAgain(asked);
  }

  /** Starts a job again as its client did. */
  async #askAgain({ method, path, body }: AskedJob): Promise<void> {
    try {
      const token = (await readFile(this.tokenFile, 'utf8')).trim();
      const answer = await fetch(new URL(path, this.url), {
        method,
        headers: {
          Authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      if (!answer.ok) throw new Error(`The answer was ${answer.status}: ${await answer.text()}`);
    } catch (error) {
      this.#log.error(
        { error, path },
        'A job that the missing data folder ended could not be started again.',
      );
    }
  }
}
