import type { ReadDatabase, WriteDatabase } from './open.ts';
import { beginSnapshot, endSnapshot, type WriteAheadLog } from './writeAheadLog.ts';

type Log = Pick<WriteAheadLog, 'sync'>;

/**
 * Commits without holding the event loop while the disk syncs. Between the commit and the end of the sync the node's
 * readers keep the snapshot of before: nobody is shown what a power cut could still take back, a signed checkpoint
 * least of all.
 */
export class DurableCommit {
  readonly #reading: ReadDatabase;
  readonly #log: Log;
  #isUnsettled = false;

  constructor(writing: WriteDatabase, reading: ReadDatabase, log: Log) {
    this.#reading = reading;
    this.#log = log;
    writing.pragma('synchronous = NORMAL');
  }

  /** Whether something is committed of which it is not known that it is on stable storage; for good where a sync failed. */
  get isUnsettled(): boolean {
    return this.#isUnsettled;
  }

  /**
   * Runs `commit` and resolves when it is on stable storage. One at a time. `onShown` is called in the turn in which the
   * readers come to see it: whatever is counted until then by other means is neither missed nor counted twice.
   *
   * @throws what `commit` throws: then nothing is committed. What the sync fails with: then it is not known whether it
   * is, the readers keep what was there before, and nothing may be written any more.
   */
  async commit(commit: () => void, onShown: () => void): Promise<void> {
    beginSnapshot(this.#reading);
    try {
      commit();
    } catch (error) {
      endSnapshot(this.#reading);
      throw error;
    }
    this.#isUnsettled = true;
    await this.#log.sync();
    this.#isUnsettled = false;
    endSnapshot(this.#reading);
    onShown();
  }
}
