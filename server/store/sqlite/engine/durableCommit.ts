import type { ReadDatabase, WriteDatabase } from './open.ts';
import { beginSnapshot, endSnapshot, type WriteAheadLog } from './writeAheadLog.ts';

/** The maximum time for a commit with its sync on the event loop. */
const FAST_MS = 4;
/** After a slow commit this many are synced in a thread; the number doubles each time, up to the maximum. */
const MIN_THREADED = 64;
const MAX_THREADED = 4_096;

export interface DurableCommitOptions {
  /** The number of commits synced in a thread at first, while the speed of the disk is unknown. */
  byThread?: number;
  now?: () => number;
}

/**
 * Commits durably without blocking the event loop for long. On a fast disk, SQLite syncs the log within the commit
 * (`synchronous=FULL`), which is faster than a thread. On a slow disk, SQLite commits without a sync (`NORMAL`) and the
 * log is synced in a thread. Until that sync ends, the node's readers keep the previous snapshot, so that nobody sees
 * (or gets a signed checkpoint of) data that a power cut could still undo.
 */
export class DurableCommit {
  readonly #writing: WriteDatabase;
  readonly #reading: ReadDatabase;
  readonly #log: Pick<WriteAheadLog, 'sync'>;
  readonly #now: () => number;
  /** The number of commits to sync in a thread before the disk is measured again. */
  #byThread: number;
  #nextByThread = MIN_THREADED;
  #hasUnsyncedCommit = false;

  constructor(
    writing: WriteDatabase,
    reading: ReadDatabase,
    log: Pick<WriteAheadLog, 'sync'>,
    { byThread = 1, now = () => performance.now() }: DurableCommitOptions = {},
  ) {
    this.#writing = writing;
    this.#reading = reading;
    this.#log = log;
    this.#byThread = byThread;
    this.#now = now;
    writing.pragma(`synchronous = ${byThread > 0 ? 'NORMAL' : 'FULL'}`);
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
    if (this.#byThread > 0) await this.#commitWithThread(commit);
    else this.#commitWithSync(commit);
    onVisible();
  }

  #commitWithSync(commit: () => void): void {
    const begun = this.#now();
    commit();
    if (this.#now() - begun <= FAST_MS) {
      this.#nextByThread = MIN_THREADED;
      return;
    }
    this.#byThread = this.#nextByThread;
    this.#nextByThread = Math.min(2 * this.#nextByThread, MAX_THREADED);
    this.#writing.pragma('synchronous = NORMAL');
  }

  async #commitWithThread(commit: () => void): Promise<void> {
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
    this.#byThread -= 1;
    if (this.#byThread === 0) this.#writing.pragma('synchronous = FULL');
  }
}
