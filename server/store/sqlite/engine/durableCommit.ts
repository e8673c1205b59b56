import type { ReadDatabase, WriteDatabase } from './open.ts';
import { beginSnapshot, endSnapshot, type WriteAheadLog } from './writeAheadLog.ts';

/** A commit that takes longer, its sync with it, is too long for the event loop. */
const QUICK_MS = 4;
/** After a commit that was not quick so many are left to a thread, twice as many each time, up to the most. */
const SOME = 64;
const MOST = 4_096;

export interface DurableCommitOptions {
  /** How many commits are left to a thread at first: it is not known how quick the disk is. */
  byThread?: number;
  now?: () => number;
}

/**
 * Commits so that the disk does not hold the event loop for long. As long as it is quick, SQLite syncs the log itself,
 * inside the commit (`synchronous=FULL`): a thread costs more than such a disk. Where it is not, SQLite commits without
 * a sync (`NORMAL`) and the log is synced in a thread. Between the two the node's readers keep the snapshot of before:
 * nobody is shown what a power cut could still take back, a signed checkpoint least of all.
 */
export class DurableCommit {
  readonly #writing: WriteDatabase;
  readonly #reading: ReadDatabase;
  readonly #log: Pick<WriteAheadLog, 'sync'>;
  readonly #now: () => number;
  /** Commits that are left to a thread before the disk is tried again. */
  #byThread: number;
  #nextByThread = SOME;
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

  /** Whether something is committed of which it is not known that it is on stable storage; for good where a sync failed. */
  get hasUnsyncedCommit(): boolean {
    return this.#hasUnsyncedCommit;
  }

  /**
   * Runs `commit` and resolves when it is on stable storage. One at a time. `onVisible` is called in the turn in which the
   * readers come to see it: whatever is counted until then by other means is neither missed nor counted twice.
   *
   * @throws what `commit` throws: then nothing is committed. What the sync fails with: then it is not known whether it
   * is, the readers keep what was there before, and nothing may be written any more.
   */
  async commit(commit: () => void, onVisible: () => void): Promise<void> {
    if (this.#byThread > 0) await this.#syncedByThread(commit);
    else this.#syncedAtOnce(commit);
    onVisible();
  }

  #syncedAtOnce(commit: () => void): void {
    const begun = this.#now();
    commit();
    if (this.#now() - begun <= QUICK_MS) {
      this.#nextByThread = SOME;
      return;
    }
    this.#byThread = this.#nextByThread;
    this.#nextByThread = Math.min(2 * this.#nextByThread, MOST);
    this.#writing.pragma('synchronous = NORMAL');
  }

  async #syncedByThread(commit: () => void): Promise<void> {
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
