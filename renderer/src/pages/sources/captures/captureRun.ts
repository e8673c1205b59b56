import { create } from 'zustand';
import { type CaptureResult, captureResultSchema } from '../../../../../shared/collection/captures.ts';
import { sendStream, upload } from '../../../api/sendStream.ts';
import { runLocalJob } from '../../../state/runLocalJob.ts';
import type { CaptureDraft, CaptureImport } from './captureImport.ts';

export type CaptureImportState =
  | { state: 'idle' }
  /** Uploading to the node. */
  | { state: 'sending'; what: string; done: number; total: number | null; rate: number; cancel: () => void }
  /** The node has the whole upload. The job reports the rest. */
  | { state: 'taken'; observer: string; what: string; jobId: string; draft: CaptureDraft }
  | { state: 'failed'; error: unknown };

interface CaptureRun {
  current: CaptureImportState;
  /** Never rejects: the outcome is in `current`. `draft` is the form that is discarded after success. */
  start: (captures: CaptureImport, draft: CaptureDraft) => Promise<void>;
  clear: () => void;
}

/** The last import that was started. It continues, and its result is kept, when the page is left. */
export const useCaptureRun = create<CaptureRun>()((set) => ({
  current: { state: 'idle' },
  clear: () => set({ current: { state: 'idle' } }),
  start: async (captures, draft) => {
    const { observer } = captures;
    const abort = new AbortController();
    const what = 'file' in captures ? captures.file.name : captures.timeMap.timemap;
    const started = performance.now();
    const show = (done: number, total: number | null) => {
      const rate = done / Math.max(0.001, (performance.now() - started) / 1000);
      set({ current: { state: 'sending', what, done, total, rate, cancel: () => abort.abort() } });
    };
    show(0, null);
    try {
      const query = { observer, wait: false };
      const answer =
        'file' in captures
          ? await runLocalJob(
              { title: `Sending ${what}`, unit: 'bytes', abort, href: '/sources' },
              ({ signal, onProgress }) =>
                upload('importCaptures', {
                  query,
                  body: captures.file,
                  mediaType: 'application/warc',
                  signal,
                  onProgress: (done, total) => {
                    onProgress(done, total);
                    show(done, total);
                  },
                }),
            )
          : await sendStream('importCaptures', {
              query,
              body: JSON.stringify(captures.timeMap),
              mediaType: 'application/json',
              signal: abort.signal,
            });
      if (!('id' in answer)) throw new Error('The node did not return an import job. Try again.');
      set({ current: { state: 'taken', observer, what, jobId: answer.id, draft } });
    } catch (error) {
      set({ current: abort.signal.aborted ? { state: 'idle' } : { state: 'failed', error } });
    }
  },
}));

/** The result of an import job. */
export function captureResultOf(result: unknown): CaptureResult | undefined {
  return captureResultSchema.safeParse(result).data;
}
