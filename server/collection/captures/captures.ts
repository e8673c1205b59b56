import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { CaptureResult, MementoImport } from '../../../shared/collection/captures.ts';
import { MAX_CAPTURE_FILE_BYTES } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import { type Jobs, type RunningJob, shuttingDown } from '../../runtime/jobs.ts';
import { reachedStorageLimit } from '../../store/store.ts';
import type { MementoServices, WarcServices } from './capture.ts';
import { importMementos } from './memento/importMementos.ts';
import { openFirstWarc, openWacz } from './wacz/openWacz.ts';
import { importWarc, type WarcImport } from './warc/importWarc.ts';
import { type FileDescription, readDescription } from './warc/readWarcFile.ts';

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

/** Bytes read from a capture file at a time. */
const READ_SIZE = 262_144;

/** A ZIP begins with the signature of its first entry. */
const ZIP_BEGINS_WITH = Buffer.from('PK\x03\x04');

function openedAt(file: string) {
  return () => createReadStream(file, { highWaterMark: READ_SIZE });
}

async function isZip(file: string): Promise<boolean> {
  const handle = await open(file, 'r');
  try {
    const first = Buffer.alloc(ZIP_BEGINS_WITH.length);
    await handle.read(first, 0, first.length, 0);
    return first.equals(ZIP_BEGINS_WITH);
  } finally {
    await handle.close();
  }
}

/**
 * Imports a WARC file or a WACZ package, as its first bytes say. Of a package that is not exactly what its digests and its
 * signature say, nothing is kept.
 *
 * @throws Problem `invalid_capture`
 */
export async function importCaptureFile(
  services: WarcServices,
  file: string,
  how: Omit<WarcImport, 'files'>,
): Promise<CaptureResult> {
  if (!(await isZip(file))) return importWarc(services, { ...how, files: [openedAt(file)] });
  const { warcs, pages, close } = await openWacz(file, how.signal);
  try {
    const { captures, already_held, skipped, ...rest } = await importWarc(services, { ...how, files: warcs });
    return { captures, already_held, skipped, pages, ...rest };
  } finally {
    await close();
  }
}

/** Reads what a file states about itself, without its captures. */
export async function describeCaptureFile(file: string, maxBytes: number): Promise<FileDescription> {
  if (!(await isZip(file))) return readDescription(openedAt(file), maxBytes);
  const { open: openWarc, close } = await openFirstWarc(file);
  try {
    return await readDescription(openWarc, maxBytes);
  } finally {
    await close();
  }
}
