import { create } from 'zustand';
import type { LedgerHead } from '../../../../shared/ledger/ledger.ts';
import { runLocalJob } from '../../state/runLocalJob.ts';
import { type Recomputed, recomputeChain } from './recomputeChain.ts';

export type Recomputation =
  | { state: 'running'; done: number; total: number; rate: number; cancel: () => void }
  | { state: 'done'; result: Recomputed; at: string }
  | { state: 'failed'; error: unknown };

interface RecomputationState {
  current: Recomputation | undefined;
  /** Never rejects: the outcome is in `current`. */
  start: (announced: LedgerHead) => Promise<void>;
}

/** The recomputation in this browser. It continues when the page is left. */
export const useRecomputation = create<RecomputationState>()((set) => ({
  current: undefined,
  start: async (announced) => {
    const size = announced.seq;
    const abort = new AbortController();
    const started = performance.now();
    const show = (current: Recomputation | undefined) => set({ current });
    const showProgress = (done: number) => {
      const seconds = Math.max(0.001, (performance.now() - started) / 1000);
      show({ state: 'running', done, total: size, rate: done / seconds, cancel: () => abort.abort() });
    };
    showProgress(0);
    try {
      const result = await runLocalJob(
        { title: 'Recomputing the ledger in this browser', unit: 'entries', href: '/ledger', abort },
        ({ signal, onProgress }) =>
          recomputeChain(announced, {
            signal,
            onProgress: (done) => {
              onProgress(done, size);
              showProgress(done);
            },
          }),
      );
      show({ state: 'done', result, at: new Date().toISOString() });
    } catch (error) {
      show(abort.signal.aborted ? undefined : { state: 'failed', error });
    }
  },
}));
