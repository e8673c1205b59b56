import { create } from 'zustand';
import { call } from '../../api/client.ts';

interface CollectionRun {
  /** The job of the last check started here. */
  jobId: string | undefined;
  /** A description of what is checked. */
  what: string;
  /** Why the check could not be started. */
  error: unknown;
  /** Whether the request that starts the job is pending. */
  isStarting: boolean;
  /** Checks the sources with these ids, or all that are not paused. Never rejects. */
  start: (what: string, ids?: readonly string[]) => Promise<void>;
  /** Clears the result. */
  clear: () => void;
}

/** The last check that the owner started. It continues, and its result is kept, when the page is left. */
export const useCollectionRun = create<CollectionRun>()((set) => ({
  jobId: undefined,
  what: '',
  error: undefined,
  isStarting: false,
  start: async (what, ids) => {
    set({ what, jobId: undefined, error: undefined, isStarting: true });
    try {
      const job = await call('collect', { body: ids ? { sources: [...ids] } : {} });
      if ('id' in job) set({ jobId: job.id });
    } catch (error) {
      set({ error });
    } finally {
      set({ isStarting: false });
    }
  },
  clear: () => set({ jobId: undefined, error: undefined }),
}));
