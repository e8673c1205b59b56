import { create } from 'zustand';
import { hashObject } from '../api/hashObject.ts';
import type { Verified } from '../components/data/DigestChip.tsx';
import { runLocalJob } from './runLocalJob.ts';

/** The verification of an archived object in this browser: download, hash, compare. */
export type ObjectCheck =
  | { state: 'running'; done: number; total: number | null; cancel: () => void }
  | { state: 'done'; verified: Verified; actual: string; bytes: number }
  | { state: 'failed'; error: unknown };

interface ObjectChecks {
  /** By the object's digest. */
  checks: Record<string, ObjectCheck | undefined>;
  /** Never rejects: the outcome is in `checks`. */
  check: (sha256: string) => Promise<void>;
}

/** Results outlive the page that started them, so a verified digest is marked wherever it appears. */
export const useObjectChecks = create<ObjectChecks>()((set) => ({
  checks: {},
  check: async (sha256) => {
    const abort = new AbortController();
    const show = (check: ObjectCheck | undefined) =>
      set((state) => ({ checks: { ...state.checks, [sha256]: check } }));
    const cancel = () => abort.abort();
    show({ state: 'running', done: 0, total: null, cancel });
    try {
      const found = await runLocalJob(
        { title: `Hashing object ${sha256.slice(0, 8)}`, unit: 'bytes', abort },
        ({ signal, onProgress }) =>
          hashObject(`/archive/${sha256}`, {
            signal,
            onProgress: (done, total) => {
              onProgress(done, total);
              show({ state: 'running', done, total, cancel });
            },
          }),
      );
      const verified: Verified = {
        ok: found.sha256 === sha256,
        at: new Date().toISOString(),
        against: 'the bytes, hashed in this browser',
      };
      show({ state: 'done', verified, actual: found.sha256, bytes: found.bytes });
    } catch (error) {
      show(abort.signal.aborted ? undefined : { state: 'failed', error });
    }
  },
}));

/** This browser's result for a digest. */
export function useVerified(sha256: string): Verified | undefined {
  return useObjectChecks((state) => {
    const check = state.checks[sha256];
    return check?.state === 'done' ? check.verified : undefined;
  });
}
