import { create } from 'zustand';
import type { Job } from '../../../shared/node/job.ts';

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
