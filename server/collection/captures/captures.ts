import type { CaptureResult, MementoImport } from '../../../shared/collection/captures.ts';
import { MAX_CAPTURE_FILE_BYTES } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import { type Jobs, type RunningJob, shuttingDown } from '../../runtime/jobs.ts';
import { reachedStorageLimit } from '../../store/store.ts';
import type { MementoServices } from './capture.ts';
import { importCaptureFile } from './importCaptureFile.ts';
import { importMementos } from './memento/importMementos.ts';

interface CaptureServices extends MementoServices {
  jobs: Jobs;
}

/** Imports captures made by third parties; each import is a job. */
export interface Captures {
  /**
   * Receives a whole WARC file or WACZ package, then imports it. An upload that is cut off imports nothing.
   *
   * @param chunks the file as it streams in, at most `MAX_CAPTURE_FILE_BYTES`.
   * @throws Problem `disk_nearly_full`, `shutting_down`; whatever the chunks throw.
   */
  startFile(observer: string, chunks: AsyncIterable<Uint8Array>): Promise<RunningJob<CaptureResult>>;
  /** Imports the mementos that a TimeMap lists. @throws Problem `shutting_down`. */
  startTimeMap(observer: string, request: MementoImport): RunningJob<CaptureResult>;
}

export function openCaptures({ jobs, ...services }: CaptureServices, closing: AbortSignal): Captures {
  const { store, settings } = services;
  const requireOpen = () => {
    if (closing.aborted) throw shuttingDown();
  };
  return {
    async startFile(observer, chunks) {
      requireOpen();
      if (reachedStorageLimit(store, settings(), 0) === 'disk_nearly_full')
        throw new Problem(
          'disk_nearly_full',
          'There is too little free disk space to import a file. Free some space and try again.',
        );
      const staged = await store.blobs.staging.stageFile(chunks, MAX_CAPTURE_FILE_BYTES);
      return jobs.start('import', 'records', async ({ signal, progress }) => {
        try {
          return await importCaptureFile(services, staged.file, {
            observer: () => observer,
            signal: AbortSignal.any([signal, closing]),
            onProgress: progress,
          });
        } finally {
          await staged.discard();
        }
      });
    },
    startTimeMap(observer, request) {
      requireOpen();
      return jobs.start('import', 'records', ({ signal, progress }) =>
        importMementos(services, request, {
          observer,
          signal: AbortSignal.any([signal, closing]),
          onProgress: progress,
        }),
      );
    },
  };
}
