import { create } from 'zustand';
import type { NoiseRun } from '../../../../../shared/noisePreview.ts';
import { call } from '../../../api/client.ts';
import { countOf, formatCount } from '../../../format/size.ts';

interface NoiseRunState {
  /** The source whose rules were changed or run last. */
  sourceId: string | undefined;
  /** The job, once it was asked for. */
  jobId: string | undefined;
  error: unknown;
  isStarting: boolean;
  /** The rules of a source are others now: its page offers to run them. */
  offer: (sourceId: string) => void;
  /** Runs the present rules over all past versions. Never rejects. */
  start: (sourceId: string) => Promise<void>;
  clear: () => void;
}

const NONE = { sourceId: undefined, jobId: undefined, error: undefined, isStarting: false };

/** The run of noise rules over past versions; it goes on, and its outcome waits, when the page is left. */
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

/** A run in words: `Of 12 changes 9 are noise.` */
export function noiseRunWords(result: unknown): string {
  if (!isNoiseRun(result)) return '';
  const { events, noise, timed_out, unreadable } = result;
  const parts = [
    `Of ${countOf(events, 'change')} ${noise === 1 ? '1 is' : `${formatCount(noise)} are`} noise`,
    timed_out > 0 && `on ${formatCount(timed_out)} a rule took too long`,
    unreadable > 0 && `the versions of ${formatCount(unreadable)} could not be read`,
  ].filter((part) => part !== false);
  return `${parts.join('; ')}.`;
}
