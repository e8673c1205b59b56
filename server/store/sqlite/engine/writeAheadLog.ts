import { closeSync, existsSync, fdatasync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Problem } from '../../../../shared/problems.ts';
import { after } from '../../../runtime/background.ts';
import { workerUrl } from '../../../runtime/workerUrl.ts';
import { syncFolder } from '../../files.ts';
import { openForReading, type ReadDatabase, statement, type WriteDatabase } from './open.ts';

/** Syncs the data of an open file. */
type SyncFile = (descriptor: number) => Promise<void>;

function dataSync(descriptor: number): Promise<void> {
  return new Promise((resolve, reject) =>
    fdatasync(descriptor, (error) => (error ? reject(error) : resolve())),
  );
}

/**
 * Syncs SQLite's write-ahead log without blocking the event loop. With `synchronous=NORMAL` SQLite appends commits to
 * the log without a sync (https://sqlite.org/pragma.html#pragma_synchronous).
 * SQLite takes no locks on this file, so closing another descriptor of it releases none
 * (https://sqlite.org/howtocorrupt.html, 2.2).
 */
export class WriteAheadLog {
  readonly #databaseFile: string;
  readonly #file: string;
  readonly #syncFile: SyncFile;
  #descriptor: number | undefined;

  constructor(databaseFile: string, syncFile: SyncFile = dataSync) {
    this.#databaseFile = databaseFile;
    this.#syncFile = syncFile;
    this.#file = `${databaseFile}-wal`;
  }

  /** The size of the log; checkpointed pages count until the log starts over. */
  get bytes(): number {
    return statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Resolves when all commits so far are on stable storage. After a failure that is unknown, also for later calls. */
  async sync(): Promise<void> {
    if (this.#descriptor === undefined) {
      // The file stays in place as long as the writing connection is open.
      this.#descriptor = openSync(this.#file, process.platform === 'win32' ? 'r+' : 'r');
      await syncFolder(dirname(this.#file));
    }
    try {
      await this.#syncFile(this.#descriptor);
    } catch (error) {
      markUnsettled(this.#databaseFile);
      throw error;
    }
  }

  /**
   * Syncs the commits of the node that last had the database open. If one of its syncs failed, a new sync may succeed
   * although nothing was written, so the whole log is checkpointed into the database file first.
   */
  async settle(database: WriteDatabase): Promise<void> {
    if (existsSync(failureMarker(this.#databaseFile))) database.pragma('wal_checkpoint(TRUNCATE)');
    await this.sync();
    rmSync(failureMarker(this.#databaseFile), { force: true });
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

/** Has the next opening settle the log. Call it also where a failed sync could not be marked, as on a disk that was pulled out. */
export function markUnsettled(databaseFile: string): void {
  writeFileSync(failureMarker(databaseFile), '');
}

/** The path of a file that exists from a failed sync of the log until the next start of a node. */
function failureMarker(databaseFile: string): string {
  return `${databaseFile}-unsettled`;
}

/**
 * Refuses reading after a failed sync. Readers cannot detect that by their own sync, which may succeed although nothing
 * was written.
 *
 * @throws Problem `storage_failed` if it is unknown whether all commits are on stable storage
 */
export function requireSynced(databaseFile: string): void {
  if (!existsSync(failureMarker(databaseFile))) return;
  throw new Problem(
    'storage_failed',
    'The disk failed while the node was writing, so it is unknown what was stored. Check the disk, then restart the node.',
  );
}

/**
 * Opens a read-only connection with a snapshot: everything read over it is of one moment and on stable storage. Without
 * the sync it could include commits that a power cut would still undo.
 *
 * @throws Problem see `requireSynced`
 */
export async function openSnapshot(file: string): Promise<ReadDatabase> {
  const database = openForReading(file);
  const log = new WriteAheadLog(file);
  try {
    beginSnapshot(database);
    await log.sync();
    requireSynced(file);
    return database;
  } catch (error) {
    database.close();
    throw error;
  } finally {
    log.close();
  }
}

/** Begins a snapshot. A deferred transaction gets its snapshot at the first read; if that fails, it is rolled back. */
export function beginSnapshot(database: ReadDatabase): void {
  statement(database, 'BEGIN').run();
  try {
    statement(database, 'SELECT 1 FROM sqlite_schema LIMIT 1').get();
  } catch (error) {
    if (database.inTransaction) statement(database, 'ROLLBACK').run();
    throw error;
  }
}

function endSnapshot(database: ReadDatabase): void {
  statement(database, 'COMMIT').run();
}

/**
 * Commits durably without blocking the event loop: SQLite commits without a sync (`synchronous=NORMAL`), and the log is
 * synced in a thread. Until that sync ends, the node's readers keep the previous snapshot, so that nobody sees (or gets a
 * signed checkpoint of) data that a power cut could still undo.
 */
export class DurableCommit {
  readonly #reading: ReadDatabase;
  readonly #log: Pick<WriteAheadLog, 'sync'>;
  #hasUnsyncedCommit = false;

  constructor(writing: WriteDatabase, reading: ReadDatabase, log: Pick<WriteAheadLog, 'sync'>) {
    this.#reading = reading;
    this.#log = log;
    writing.pragma('synchronous = NORMAL');
  }

  /** Whether a commit is not yet known to be on stable storage. Stays true after a failed sync. */
  get hasUnsyncedCommit(): boolean {
    return this.#hasUnsyncedCommit;
  }

  /**
   * Runs `commit` and resolves when it is on stable storage. Call it one at a time. `onVisible` is called in the turn of
   * the event loop in which the readers begin to see the commit, so that counts kept elsewhere neither miss it nor count
   * it twice.
   *
   * @throws an error of `commit`: nothing is committed. An error of the sync: it is unknown whether the commit is on
   * stable storage, the readers keep the previous snapshot, and nothing may be written any more.
   */
  async commit(commit: () => void, onVisible: () => void): Promise<void> {
    beginSnapshot(this.#reading);
    try {
      commit();
    } catch (error) {
      endSnapshot(this.#reading);
      throw error;
    }
    this.#hasUnsyncedCommit = true;
    await this.#log.sync();
    this.#hasUnsyncedCommit = false;
    endSnapshot(this.#reading);
    onVisible();
  }
}

export type CheckpointTask = 'checkpoint' | 'empty' | 'end';
/** Whether the whole log was copied, so that the next commit starts it from the beginning. */
export type CheckpointAnswer = { isComplete: boolean; isEmpty?: boolean };

/** The delay from a commit to the next checkpoint. */
const EVERY_MS = 500;
/** The thread ends when nothing was committed for this long, to free its memory of some megabytes. */
const IDLE_MS = 5_000;
/** A log that never exceeds this size is left to SQLite. */
const SMALL_LOG_BYTES = 4_194_304;
/** At this size, commits wait for a complete checkpoint: without one, the log can only grow. */
const LONG_LOG_BYTES = 33_554_432;

/**
 * Checkpoints the database in a worker thread: copies committed pages from the write-ahead log into the database file.
 * This reads and syncs megabytes and would block the event loop. Durability does not depend on it: commits are on stable
 * storage in the log, and if the log still grows, the writing connection checkpoints it (`wal_autocheckpoint`).
 */
export class Checkpointer {
  readonly #file: string;
  readonly #warn: (error: unknown) => void;
  readonly #idleMs: number;
  #timer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #worker: Worker | undefined;
  /** Resolves when the last thread that was told to end has ended. */
  #ended: Promise<void> | undefined;
  #isBusy = false;
  /** Whether the log was copied completely and nothing was committed since. */
  #isComplete = false;
  /** A long-running reader prevents a complete checkpoint. Commits do not wait for another before this time. */
  #waitNotBefore = 0;
  #waiting: (() => void)[] = [];
  /** Resolves when the log was emptied or could not be. Commits wait for that. */
  #emptying: Promise<boolean> | undefined;
  #isEmpty = false;

  /**
   * @param warn receives the errors of checkpoints that no commit waits for; the next commit leads to another attempt
   * @param idleMs how long after the last commit the thread ends
   */
  constructor(databaseFile: string, warn: (error: unknown) => void, idleMs = IDLE_MS) {
    this.#file = databaseFile;
    this.#warn = warn;
    this.#idleMs = idleMs;
  }

  /** Call this after each commit. */
  readonly committed = (): void => {
    this.#isComplete = false;
    clearTimeout(this.#idleTimer);
    this.#timer ??= after(EVERY_MS, () => this.#checkpoint(), this.#warn).unref();
  };

  /** Resolves when the next commit may be made; undefined if it may be made at once. Do not commit meanwhile. */
  whenReady(): Promise<unknown> | undefined {
    if (this.#emptying) return this.#emptying;
    if (this.#isComplete || performance.now() < this.#waitNotBefore) return undefined;
    if (this.#logBytes() < LONG_LOG_BYTES) return undefined;
    return this.#copyAll();
  }

  /**
   * Copies the whole log into the database and truncates it to nothing, so that nothing of what was overwritten since is
   * left in it. Returns false if somebody reads or writes at that moment: call it again later.
   */
  empty(): Promise<boolean> {
    this.#emptying ??= this.#empty().finally(() => (this.#emptying = undefined));
    return this.#emptying;
  }

  async #empty(): Promise<boolean> {
    if (this.#isBusy) await this.#finished();
    this.#isEmpty = false;
    this.#begin('empty');
    await this.#finished();
    return this.#isEmpty;
  }

  async #copyAll(): Promise<void> {
    // A running checkpoint may have begun before the last commit.
    if (this.#isBusy) await this.#finished();
    this.#begin();
    await this.#finished();
    if (!this.#isComplete) this.#waitNotBefore = performance.now() + EVERY_MS;
  }

  /** Resolves when the thread has answered or ended. */
  #finished(): Promise<void> {
    this.#worker?.ref();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #checkpoint(): void {
    this.#timer = undefined;
    if (this.#isBusy) return this.committed();
    if (this.#worker || this.#logBytes() >= SMALL_LOG_BYTES) this.#begin();
  }

  #begin(task: CheckpointTask = 'checkpoint'): void {
    this.#worker ??= this.#start();
    this.#isBusy = true;
    this.#worker.postMessage(task);
  }

  #end({ isComplete, isEmpty = false }: CheckpointAnswer): void {
    this.#isBusy = false;
    this.#isComplete = isComplete;
    this.#isEmpty = isEmpty;
    for (const resolve of this.#waiting.splice(0)) resolve();
    clearTimeout(this.#idleTimer);
    if (isComplete && !this.#timer)
      this.#idleTimer = after(
        this.#idleMs,
        () => {
          if (!this.#isBusy) this.#endThread();
        },
        this.#warn,
      ).unref();
  }

  #logBytes(): number {
    return statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  #start(): Worker {
    const worker = new Worker(workerUrl('checkpoint', import.meta.url), { workerData: this.#file });
    worker.unref();
    worker.on('message', (answer: CheckpointAnswer) => {
      // `#endThread` keeps its worker referenced to await it.
      if (this.#worker === worker) worker.unref();
      this.#end(answer);
    });
    // Until the next attempt starts a new thread, the writing connection checkpoints.
    worker.on('error', () => this.#forget(worker));
    worker.on('exit', () => this.#forget(worker));
    return worker;
  }

  #forget(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#end({ isComplete: false });
  }

  /** Resolves when no thread has a connection any more. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    clearTimeout(this.#idleTimer);
    this.#endThread();
    await this.#ended;
  }

  /** Ends the thread, which closes its connection. The next checkpoint starts another. */
  #endThread(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    if (!worker) return;
    // `once` of node:events would reject if the thread fails, but the thread has ended then too.
    this.#ended = new Promise((resolve) => worker.once('exit', () => resolve()));
    worker.ref();
    worker.postMessage('end' satisfies CheckpointTask);
  }
}
