import { create } from 'zustand';
import type { Pack, PackRecord } from '../../../../shared/archive/pack.ts';
import { useJobs } from '../../state/jobs.ts';
import { runLocalJob } from '../../state/runLocalJob.ts';
import { type Draft, useDraft } from './draft.ts';
import type { DraftFile } from './files/draftFile.ts';
import { useDraftFiles } from './files/draftFiles.ts';
import { rememberAuthors } from './rememberedAuthors.ts';
import { useDraftSaving } from './saving/draftSaving.ts';
import { uploadPack } from './uploadPack.ts';

/** The progress of publishing. It continues when the person leaves the page. */
export type Publication =
  | { state: 'idle' }
  | { state: 'running'; done: number; total: number | null; rate: number; cancel: () => void }
  /** `draft` is the refused draft, to detect later changes. */
  | { state: 'failed'; error: unknown; draft: Draft; files: readonly DraftFile[] }
  | { state: 'published'; pack: Pack; fingerprint: string };

interface PublicationState {
  publication: Publication;
  /** Never rejects: the outcome is in `publication`. */
  publish: (record: PackRecord, files: readonly DraftFile[], fingerprint: string) => Promise<void>;
  /** Clears the outcome after it was shown. */
  settle: () => void;
}

export const usePublication = create<PublicationState>()((set) => ({
  publication: { state: 'idle' },
  settle: () => set({ publication: { state: 'idle' } }),
  publish: async (record, files, fingerprint) => {
    const abort = new AbortController();
    const started = performance.now();
    const show = (done: number, total: number | null) => {
      const rate = done / Math.max(0.001, (performance.now() - started) / 1000);
      set({ publication: { state: 'running', done, total, rate, cancel: () => abort.abort() } });
    };
    show(0, null);
    try {
      const pack = await runLocalJob(
        { title: `Publishing “${record.title}”`, unit: 'bytes', abort, href: '/assemble' },
        ({ signal, onProgress }) => {
          const { saving, publish } = useDraftSaving.getState();
          if (saving.state !== 'local') return publish();
          return uploadPack(record, files, {
            signal,
            onProgress: (done, total) => {
              onProgress(done, total);
              show(done, total);
            },
          });
        },
      );
      pointJobsAt(pack);
      rememberAuthors(pack.authors);
      // Shown before the draft is cleared, so that the page never shows the emptied form.
      set({ publication: { state: 'published', pack, fingerprint } });
      useDraftSaving.getState().end();
    } catch (error) {
      const { draft } = useDraft.getState();
      // Saving before publishing replaces the list of files.
      const { files } = useDraftFiles.getState();
      set({
        publication: abort.signal.aborted ? { state: 'idle' } : { state: 'failed', error, draft, files },
      });
    }
  },
}));

/** A finished job links to the pack, not to the emptied form. */
function pointJobsAt(pack: Pack): void {
  const { local, updateLocalJob } = useJobs.getState();
  for (const job of Object.values(local)) {
    if (job.href === '/assemble' && job.state === 'done')
      updateLocalJob({ ...job, href: `/packs/${pack.id}` });
  }
}
