import { Problem } from '../../shared/problems.ts';
import type { JobRun, Jobs, RunningJob } from '../runtime/jobs.ts';
import { shuttingDown } from '../runtime/shuttingDown.ts';
import { type CopyRow, copyById, setCopyError } from '../store/sqlite/node/copies.ts';
import type { Store } from '../store/store.ts';
import { readCredentials } from './keys/credentials.ts';
import { openTarget } from './targets/openTarget.ts';
import { CopyError, type CopyTarget } from './targets/target.ts';

/** Opens copies for tasks. Each copy runs one task at a time, in the order of the calls. */
export class CopyTurns {
  readonly #store: Store;
  readonly #jobs: Jobs;
  readonly #onEnd: () => void;
  /** The last task of each copy. The next one waits for it. */
  readonly #last = new Map<string, Promise<unknown>>();
  #isClosed = false;

  /** `onEnd` is called when a job that was started here has ended. */
  constructor(store: Store, jobs: Jobs, onEnd: () => void) {
    this.#store = store;
    this.#jobs = jobs;
    this.#onEnd = onEnd;
  }

  /** @throws Problem `not_found` */
  copy(id: string): CopyRow {
    const copy = copyById(this.#store.read, id);
    if (!copy) throw new Problem('not_found', `There is no copy ${id}.`);
    return copy;
  }

  /** Returns a copy, and a promise for the end of its earlier tasks. */
  next(id: string): { copy: CopyRow; before: Promise<unknown> | undefined } {
    if (this.#isClosed) throw shuttingDown();
    return { copy: this.copy(id), before: this.#last.get(id) };
  }

  /** Runs a short task. @throws Problem `not_found`, `copy_failed`, `shutting_down` */
  async run<Result>(id: string, work: (target: CopyTarget) => Promise<Result>): Promise<Result> {
    const { before } = this.next(id);
    const done = (async () => {
      await before;
      return this.#withTarget(id, work);
    })();
    this.#last.set(
      id,
      done.catch(() => undefined),
    );
    return done;
  }

  /** Starts a job. @throws Problem `not_found`, `shutting_down` */
  start<Result>(
    id: string,
    kind: 'copy_sync' | 'copy_check',
    work: (target: CopyTarget, run: JobRun) => Promise<Result>,
  ): RunningJob<Result> {
    const { before } = this.next(id);
    const started = this.#jobs.start(kind, kind === 'copy_sync' ? 'bytes' : 'objects', async (run) => {
      await before;
      run.signal.throwIfAborted();
      return this.#withTarget(id, (target) => work(target, run));
    });
    this.#last.set(id, started.finished.then(this.#onEnd, this.#onEnd));
    return started;
  }

  /** Starts no more work. `Jobs.close` waits for running jobs. */
  close(): void {
    this.#isClosed = true;
  }

  /** Opens the target for a task, and records why it failed. */
  async #withTarget<Result>(id: string, work: (target: CopyTarget) => Promise<Result>): Promise<Result> {
    try {
      const credentials = await readCredentials(this.#store.folder);
      const target = await openTarget({ ...this.copy(id), ...credentials[id] });
      try {
        return await work(target);
      } finally {
        target.close();
      }
    } catch (error) {
      if (!(error instanceof CopyError)) throw error;
      await this.#store.write((database) => setCopyError(database, id, error.message));
      throw new Problem('copy_failed', error.message, { cause: error });
    }
  }
}
