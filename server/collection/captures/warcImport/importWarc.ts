import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CaptureResult } from '../../../../shared/collection/captures.ts';
import { MAX_CAPTURE_UNPACKED_BYTES, MEGABYTE } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import { temporaryFolder } from '../../../store/blobs/paths.ts';
import { CaptureSpool } from '../../../store/sqlite/collection/captureSpool.ts';
import { sourceById } from '../../../store/sqlite/collection/sources.ts';
import { sourceIdOf } from '../../sources/sources.ts';
import { DamagedCaptureFileError } from '../captureFileErrors.ts';
import { CaptureSpace } from '../captureSpace.ts';
import type { WarcServices } from '../services.ts';
import { Tally } from '../tally.ts';
import { CaptureRecorder } from './captureRecorder.ts';
import type { OpenBytes } from './decompress.ts';
import { type FileDescription, type PendingCaptures, readWarcFile } from './readWarcFile.ts';

export interface WarcImport {
  /** Opens the file, compressed or not. */
  open: OpenBytes;
  /** Returns whose captures these are. Called once the file is read. */
  observer: (description: FileDescription) => string;
  signal: AbortSignal;
  /** Called with the number of captures recorded, out of all that were read. */
  onProgress?: (done: number, total: number) => void;
}

/**
 * Imports a WARC file: reads all of it, then records its captures in the order of their capture times. Cancelling keeps
 * the captures already recorded.
 *
 * @throws Problem `invalid_capture` if the file is not a WARC file or its first record is damaged.
 */
export async function importWarc(
  services: WarcServices,
  { open, observer, signal, onProgress = () => {} }: WarcImport,
): Promise<CaptureResult> {
  const { store, receiver, settings } = services;
  const file = join(temporaryFolder(store.folder), `captures-${store.randomHex(16)}`);
  const spool = new CaptureSpool(file);
  const pending: PendingCaptures = { spool, space: new CaptureSpace(receiver), large: new Map() };
  const tally = new Tally();
  try {
    const maxBytesOf = (url: string) =>
      Math.floor(
        (sourceById(store.read, sourceIdOf(url))?.max_object_mb ?? settings().max_object_mb) * MEGABYTE,
      );
    const reading = {
      staging: store.blobs.staging,
      maxBytesOf,
      receiver,
      maxUnpackedBytes: MAX_CAPTURE_UNPACKED_BYTES,
    };
    const description = await readWarcFile(reading, pending, tally, open, signal);
    await new CaptureRecorder(services, pending, tally, observer(description)).run(signal, onProgress);
  } catch (error) {
    if (error instanceof DamagedCaptureFileError)
      throw new Problem('invalid_capture', `This WARC file cannot be read: ${error.message}`);
    if (!signal.aborted) throw error;
  } finally {
    pending.space.close();
    spool.close();
    await rm(file, { force: true });
    for (const staged of pending.large.values()) await staged.discard();
  }
  return tally.result();
}
