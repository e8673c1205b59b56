import { create } from 'zustand';
import type { Job } from '../../../shared/job.ts';

/** Long work that this page itself does (an upload, hashing), in the same words as the node's own jobs. */
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
  /** Where the work, or what came of it, is shown. */
  href?: string;
}

interface JobsState {
  /** The node's jobs by id, as /manage/stream told them last. */
  node: Record<string, Job>;
  local: Record<string, LocalJob>;
  /** Ended jobs that the person has put away. */
  dismissed: readonly string[];
  tellNodeJob: (job: Job) => void;
  tellLocalJob: (job: LocalJob) => void;
  dismiss: (id: string) => void;
}

export const useJobs = create<JobsState>()((set) => ({
  node: {},
  local: {},
  dismissed: [],
  tellNodeJob: (job) => set((state) => ({ node: { ...state.node, [job.id]: job } })),
  tellLocalJob: (job) => set((state) => ({ local: { ...state.local, [job.id]: job } })),
  dismiss: (id) => set((state) => ({ dismissed: [...state.dismissed, id] })),
}));
