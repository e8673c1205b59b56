import { Problem } from '../../shared/problems.ts';
import { type JobRun, type Jobs, type RunningJob, shuttingDown } from '../runtime/jobs.ts';
import { type CopyRow, copyById, setCopyError } from '../store/sqlite/node/copies.ts';
import type { Store } from '../store/store.ts';
import { type CopyOpener, openCopy } from './targets/openTarget.ts';
import { asCopyProblem, CopyError, type CopyTarget } from './targets/target.ts';

const UNITS = {
  copy_sync: 'bytes',
  copy_check: 'objects',
  copy_drill: 'objects',
  mark_lost: 'objects',
} as const;

/** The place of the tasks that add a copy: two of them could add the same one. */
export const NEW_COPY = 'new';

/** Runs what is done with a copy: for each copy one task at a time, in the order of the calls. */
export class CopyQueue {
  readonly #store: Store;
  readonly #opener: CopyOpener;
  readonly #jobs: Jobs;
  readonly #onEnd: () => void;
  /** The last task of each copy. The next one waits for it. */
  readonly #last = new Map<string, Promise<void>>();
  /** The jobs of each copy that run or wait. */
  readonly #active = new Map<string, Set<string>>();
  #isClosed = false;

  /** `onEnd` is called when a job that was started here has ended. */
  constructor(store: Store, opener: CopyOpener, jobs: Jobs, onEnd: () => void) {
    this.#store = store;
    this.#opener = opener;
    this.#jobs = jobs;
    this.#onEnd = onEnd;
  }

  /** @throws Problem `not_found` */
  copy(id: string): CopyRow {
    const copy = copyById(this.#store.read, id);
    if (!copy) throw new Problem('not_found', `There is no copy ${id}.`);
    return copy;
  }

  /** Runs a task that is no job. @throws Problem `shutting_down` */
  run<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    return this.#enqueue(id, (before) => before.then(work));
  }

  /** Starts a job. @throws Problem `not_found`, `shutting_down` */
  start<Result>(
    id: string,
    kind: keyof typeof UNITS,
    work: (copy: CopyRow, run: JobRun) => Promise<Result>,
  ): RunningJob<Result> {
    this.copy(id);
    let started: RunningJob<Result> | undefined;
    const finished = this.#enqueue(id, (before) => {
      started = this.#jobs.start(kind, UNITS[kind], async (run) => {
        await before;
        run.signal.throwIfAborted();
        return work(this.copy(id), run);
      });
      return started.finished;
    });
    const { job } = started as RunningJob<Result>;
    const active = this.#active.get(id) ?? new Set();
    this.#active.set(id, active.add(job.id));
    const ended = () => {
      active.delete(job.id);
      this.#onEnd();
    };
    finished.then(ended, ended);
    return { job, finished };
  }

  /** Cancels the jobs of a copy that run or wait, and waits until they have ended. */
  async cancel(id: string): Promise<void> {
    await Promise.all([...(this.#active.get(id) ?? [])].map((job) => this.#jobs.cancel(job)));
  }

  #enqueue<Result>(id: string, begin: (before: Promise<void>) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw shuttingDown();
    const before = this.#last.get(id) ?? Promise.resolve();
    const done = begin(before);
    const ended = done.then(
      () => {},
      () => {},
    );
    this.#last.set(id, ended);
    return done;
  }

  /** Starts no more work. `Jobs.close` waits for running jobs. */
  close(): void {
    this.#isClosed = true;
  }

  /** Opens a copy for a task, and records why it failed. @throws Problem `copy_failed` in place of a CopyError */
  async withTarget<Result>(id: string, work: (target: CopyTarget) => Promise<Result>): Promise<Result> {
    try {
      const target = await openCopy(this.#opener, this.copy(id));
      try {
        return await work(target);
      } finally {
        await target.close();
      }
    } catch (error) {
      if (error instanceof CopyError)
        await this.#store.write((database) => setCopyError(database, { id, last_error: error.message }));
      throw asCopyProblem(error);
    }
  }
}
