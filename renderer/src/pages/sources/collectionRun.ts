import { create } from 'zustand';
import { call } from '../../api/client.ts';

interface CollectionRun {
  /** The job of the last check that was asked for here. */
  jobId: string | undefined;
  /** What was asked to be checked, in words. */
  what: string;
  /** Why it could not be started. */
  error: unknown;
  /** Whether the answer of the node, the job, is still awaited. */
  isStarting: boolean;
  /** Checks the sources with these ids now, or all that are not paused. Never rejects. */
  start: (what: string, ids?: readonly string[]) => Promise<void>;
  /** Puts the outcome away. */
  clear: () => void;
}

/** The check that the owner asked for last; it goes on, and its outcome waits, when the page is left. */
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
