import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { create } from 'zustand';
import type { Job, JobKind } from '../../../shared/node/job.ts';
import type { RouteName } from '../../../shared/routes.ts';
import { call, followStream, isProblem } from '../api/client.ts';
import { reloadWrittenElsewhere, useCall, useReload, type WriteName } from '../api/useCall.ts';

/** A job that runs in this page (an upload, hashing), in the same form as the node's jobs. */
export interface LocalJob {
  id: string;
  title: string;
  state: Job['state'];
  done: number;
  total: number | null;
  unit: Job['progress']['unit'] | 'files';
  /** Units per second. */
  rate: number;
  error: string | null;
  cancel?: () => void;
  /** The page that shows the job or its result. */
  href?: string;
}

interface JobsState {
  /** The node's jobs by id, as last received from /manage/stream. */
  node: Record<string, Job>;
  local: Record<string, LocalJob>;
  /** Finished jobs that were dismissed. */
  dismissed: readonly string[];
  updateNodeJob: (job: Job) => void;
  updateLocalJob: (job: LocalJob) => void;
  dismiss: (id: string) => void;
}

export const useJobs = create<JobsState>()((set) => ({
  node: {},
  local: {},
  dismissed: [],
  updateNodeJob: (job) =>
    set((state) => {
      const known = state.node[job.id];
      // The answer to an earlier request may come after the stream has delivered the end.
      const isOlder = job.state === 'running' && known !== undefined && known.state !== 'running';
      return isOlder ? state : { node: { ...state.node, [job.id]: job } };
    }),
  updateLocalJob: (job) => set((state) => ({ local: { ...state.local, [job.id]: job } })),
  dismiss: (id) => set((state) => ({ dismissed: [...state.dismissed, id] })),
}));

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

/**
 * Follows the node while the owner is signed in: loads the current jobs, then applies the stream, which also says what other
 * windows and browsers changed.
 */
export function useNodeJobs(isOwner: boolean): void {
  const update = useJobs((state) => state.updateNodeJob);
  const queries = useQueryClient();
  useEffect(() => {
    if (!isOwner) return;
    const readRunning = async () => {
      // Updates may have been missed while the stream was closed, so the list is reloaded each time it opens.
      const page = await call('listJobs', { query: { limit: 50 } }).catch(() => undefined);
      const known = useJobs.getState().node;
      for (const job of page?.items ?? []) {
        if (job.state === 'running' || job.id in known) update(job);
      }
    };
    return followStream('streamManagement', {
      onOpen: () => void readRunning(),
      // A node whose disk vanishes ends its streams. Its answer to any request says why.
      onLost: () => void call('readSession').catch(() => {}),
      on: {
        job: (data) => update(JSON.parse(data) as Job),
        write: (data) => reloadWrittenElsewhere(queries, (JSON.parse(data) as { route: RouteName }).route),
      },
    });
  }, [isOwner, update, queries]);
}

const ASK_AGAIN_MS = 2_000;
/** Jobs are in the memory of the node. */
const RESTARTED = 'The node was restarted before this had ended.';

/**
 * The current state of a job of the node: from the stream, with polling as a fallback while the job has not
 * ended.
 */
export function useFollowedJob(id: string | undefined): Job | undefined {
  const streamed = useJobs((state) => (id === undefined ? undefined : state.node[id]));
  const hasEnded = streamed !== undefined && streamed.state !== 'running';
  const { data: polled, error } = useCall(
    'readJob',
    { params: { id: id ?? '' } },
    { enabled: id !== undefined && !hasEnded, refetchInterval: hasEnded ? undefined : ASK_AGAIN_MS },
  );
  if (hasEnded) return streamed;
  const job = polled && polled.state !== 'running' ? polled : (streamed ?? polled);
  const isLost = job?.state === 'running' && isProblem(error, 'not_found');
  return isLost ? { ...job, state: 'failed', error: RESTARTED } : job;
}

/** Requests again what a write makes outdated when a job of these kinds ends, also one that was not started here. */
export function useReloadAfterJobs(kinds: readonly JobKind[], written: WriteName): void {
  const reload = useReload();
  const ended = useJobs(
    ({ node }) =>
      Object.values(node).filter(({ kind, state }) => kinds.includes(kind) && state !== 'running').length,
  );
  useEffect(() => {
    if (ended > 0) void reload(written);
  }, [ended, reload, written]);
}

/** A job that was started here, of which there is one of each kind. */
export interface JobRun<Subject> {
  /** What the job is about; undefined if there is none. */
  subject: Subject | undefined;
  /** Undefined until the job was started. */
  jobId: string | undefined;
  /** Why it could not be started. */
  error: unknown;
  isStarting: boolean;
  /** Names a subject without starting its job. */
  offer: (subject: Subject) => void;
  /** Never rejects: see `error`. */
  start: (subject: Subject) => Promise<void>;
  clear: () => void;
}

/**
 * A store of the last job of a kind that was started here. The job continues, and its result is kept, when the page is
 * left. `begin` starts the job and returns its id.
 */
export function createJobRun<Subject>(begin: (subject: Subject) => Promise<string | undefined>) {
  const none = { subject: undefined, jobId: undefined, error: undefined, isStarting: false };
  return create<JobRun<Subject>>()((set) => ({
    ...none,
    offer: (subject) => set({ ...none, subject }),
    start: async (subject) => {
      set({ ...none, subject, isStarting: true });
      try {
        set({ jobId: await begin(subject) });
      } catch (error) {
        set({ error });
      } finally {
        set({ isStarting: false });
      }
    },
    clear: () => set(none),
  }));
}
