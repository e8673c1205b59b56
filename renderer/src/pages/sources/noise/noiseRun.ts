import { create } from 'zustand';
import type { NoiseRun } from '../../../../../shared/collection/noisePreview.ts';
import { call } from '../../../api/client.ts';
import { countOf, formatCount } from '../../../format/size.ts';

interface NoiseRunState {
  /** The source whose rules were last changed or applied. */
  sourceId: string | undefined;
  /** The job, once it was started. */
  jobId: string | undefined;
  error: unknown;
  isStarting: boolean;
  /** Records that a source's rules changed, so that its page offers to apply them. */
  offer: (sourceId: string) => void;
  /** Applies the current rules to all past versions. Never rejects. */
  start: (sourceId: string) => Promise<void>;
  clear: () => void;
}

const NONE = { sourceId: undefined, jobId: undefined, error: undefined, isStarting: false };

/**
 * The last run of noise rules over past versions. It continues, and its result is kept, when the page is
 * left.
 */
export const useNoiseRun = create<NoiseRunState>()((set) => ({
  ...NONE,
  offer: (sourceId) => set({ ...NONE, sourceId }),
  clear: () => set(NONE),
  start: async (sourceId) => {
    set({ ...NONE, sourceId, isStarting: true });
    try {
      const job = await call('runNoiseRules', { params: { id: sourceId } });
      set({ jobId: job.id });
    } catch (error) {
      set({ error });
    } finally {
      set({ isStarting: false });
    }
  },
}));

function isNoiseRun(result: unknown): result is NoiseRun {
  return typeof result === 'object' && result !== null && 'events' in result && 'noise' in result;
}

/** A run in one sentence: `9 of 12 changes are noise.` */
export function noiseRunSummary(result: unknown): string {
  if (!isNoiseRun(result)) return '';
  const { events, noise, timed_out, unreadable } = result;
  const parts = [
    `${formatCount(noise)} of ${countOf(events, 'change')} ${noise === 1 ? 'is' : 'are'} noise`,
    timed_out > 0 && `a rule took too long on ${countOf(timed_out, 'change')}`,
    unreadable > 0 && `${countOf(unreadable, 'change')} could not be read`,
  ].filter((part) => part !== false);
  return `${parts.join('; ')}.`;
}
