import { type LocalJob, useJobs } from './jobs.ts';

/** What a job receives: an abort signal and a function to report progress. */
export interface JobContext {
  signal: AbortSignal;
  onProgress: (done: number, total: number | null) => void;
}

/** Shorter jobs are not shown in the tray. */
const UNLISTED_MS = 500;
/** Progress is shown at most this often. */
const REPORT_EVERY_MS = 100;

/**
 * Runs a job in this page. It continues when the person leaves the page, appears in the tray after a while,
 * and can be cancelled there. Settles with the work; a cancelled job rejects with an AbortError.
 */
export async function runLocalJob<Result>(
  about: Pick<LocalJob, 'title' | 'unit' | 'href'> & { abort?: AbortController; total?: number },
  work: (run: JobContext) => Promise<Result>,
): Promise<Result> {
  const { abort = new AbortController(), total = null, ...rest } = about;
  const started = performance.now();
  const job: LocalJob = {
    ...rest,
    id: `local-${crypto.getRandomValues(new Uint32Array(2)).join('')}`,
    state: 'running',
    done: 0,
    total,
    rate: 0,
    error: null,
    cancel: () => abort.abort(),
  };
  const { updateLocalJob } = useJobs.getState();
  let shownAt = started;
  let listed = false;
  const show = (change: Partial<LocalJob>) => {
    Object.assign(job, change);
    const now = performance.now();
    if (now - shownAt < REPORT_EVERY_MS && job.state === 'running') return;
    shownAt = now;
    listed ||= now - started > UNLISTED_MS;
    if (listed) updateLocalJob({ ...job });
  };
  try {
    const result = await work({
      signal: abort.signal,
      onProgress: (done, of) => {
        show({ done, total: of, rate: done / Math.max(0.001, (performance.now() - started) / 1000) });
      },
    });
    show({ state: 'done' });
    return result;
  } catch (error) {
    const cancelled = abort.signal.aborted;
    show({
      state: cancelled ? 'cancelled' : 'failed',
      error: cancelled ? null : error instanceof Error ? error.message : String(error),
    });
    throw error;
  }
}
