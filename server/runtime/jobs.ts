import { EventEmitter } from 'node:events';
import type { Job, JobKind, JobUnit } from '../../shared/node/job.ts';
import { Problem } from '../../shared/problems.ts';
import { type Clock, instantOf } from '../../shared/values/clock.ts';

/** Passed to the work of a job: a signal that is aborted on cancellation, and a function to report progress. */
export interface JobRun {
  signal: AbortSignal;
  progress: (done: number, total: number | null) => void;
}

export interface RunningJob<Result> {
  job: Job;
  /** Settles with the result of the work. */
  finished: Promise<Result>;
}

/** Beyond this many jobs, ended ones are removed, oldest first. */
const MAX_JOBS = 200;
/** Progress events are at least this far apart. */
const PROGRESS_EVERY_MS = 100;

/** The long-running jobs with their progress and results. Emits `job` on each change. */
export class Jobs extends EventEmitter<{ job: [Job] }> {
  readonly #clock: Clock;
  readonly #randomHex: (digits: number) => string;
  #isClosed = false;
  readonly #jobs = new Map<string, { job: Job; abort: AbortController; finished: Promise<unknown> }>();

  constructor(clock: Clock, randomHex: (digits: number) => string) {
    super();
    this.#clock = clock;
    this.#randomHex = randomHex;
    this.setMaxListeners(0);
  }

  /**
   * Starts a job. If the work fails, the error is in the job and rejects `finished`.
   *
   * @throws Problem `shutting_down`
   */
  start<Result>(
    kind: JobKind,
    unit: JobUnit,
    work: (run: JobRun) => Promise<Result>,
    subject: Pick<Job, 'draft'> = {},
  ): RunningJob<Result> {
    // Nobody would end it before the database is closed.
    if (this.#isClosed) throw shuttingDown();
    const started = this.#clock.now();
    const job: Job = {
      id: `jo_${this.#randomHex(20)}`,
      kind,
      ...subject,
      state: 'running',
      progress: { done: 0, total: null, unit, rate: 0 },
      started_at: instantOf(started),
      ended_at: null,
      result: null,
      error: null,
      error_code: null,
    };
    const abort = new AbortController();
    let lastEmitted = 0;
    const progress = (done: number, total: number | null) => {
      const now = this.#clock.now();
      job.progress = { done, total, unit, rate: Math.round(done / Math.max(0.001, (now - started) / 1000)) };
      if (now - lastEmitted < PROGRESS_EVERY_MS && done !== total) return;
      lastEmitted = now;
      this.emit('job', job);
    };
    const finished = work({ signal: abort.signal, progress }).then(
      (result) => {
        this.#end(job, abort.signal.aborted ? 'cancelled' : 'done', { result });
        return result;
      },
      (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        const error_code = error instanceof Problem ? error.code : null;
        this.#end(job, abort.signal.aborted ? 'cancelled' : 'failed', { error: message, error_code });
        throw error;
      },
    );
    // If nobody awaits `finished`, the failure is still in the job.
    finished.catch(() => {});
    this.#jobs.set(job.id, { job, abort, finished });
    this.#removeOldest();
    this.emit('job', job);
    return { job, finished };
  }

  #end(job: Job, state: Job['state'], outcome: Partial<Pick<Job, 'result' | 'error' | 'error_code'>>): void {
    job.state = state;
    job.ended_at = instantOf(this.#clock.now());
    job.result = outcome.result ?? null;
    job.error = outcome.error ?? null;
    job.error_code = outcome.error_code ?? null;
    this.emit('job', job);
  }

  #removeOldest(): void {
    for (const [id, { job }] of this.#jobs) {
      if (this.#jobs.size <= MAX_JOBS) return;
      if (job.state !== 'running') this.#jobs.delete(id);
    }
  }

  /** Takes over the jobs of an archive that was closed, so that those who follow them learn that they ended. */
  adopt(ended: readonly Job[]): void {
    for (const job of ended.toReversed())
      this.#jobs.set(job.id, { job, abort: new AbortController(), finished: Promise.resolve() });
    this.#removeOldest();
  }

  /** Returns all jobs, newest first. */
  list(): Job[] {
    return [...this.#jobs.values()].map(({ job }) => job).reverse();
  }

  find(id: string): Job | undefined {
    return this.#jobs.get(id)?.job;
  }

  /** Cancels a job and waits until it has ended. */
  async cancel(id: string): Promise<Job | undefined> {
    const found = this.#jobs.get(id);
    found?.abort.abort();
    await Promise.allSettled([found?.finished]);
    return found?.job;
  }

  /** Cancels all jobs and waits until they have ended. No other begins. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { abort } of this.#jobs.values()) abort.abort();
    await Promise.allSettled([...this.#jobs.values()].map(({ finished }) => finished));
  }
}

/** The refusal of work that would begin, or has not ended, while the node closes. */
export function shuttingDown(): Problem {
  return new Problem('shutting_down', 'The node is shutting down. Try again after it has restarted.');
}
