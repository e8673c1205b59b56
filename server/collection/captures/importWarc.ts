import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CaptureResult } from '../../../shared/captures.ts';
import { MAX_CAPTURE_UNPACKED_BYTES, MEGABYTE } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import { temporaryFolder } from '../../store/blobs/paths.ts';
import { CaptureSpool } from '../../store/sqlite/collection/captureSpool.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import { sourceIdOf } from '../sources/sources.ts';
import { CaptureSpace } from './captureRoom.ts';
import { DamagedCaptureFileError } from './damage.ts';
import { type FileDescription, readWarcFile, type Waiting } from './readWarcFile.ts';
import { CaptureRecorder } from './recording.ts';
import type { WarcServices } from './services.ts';
import { Tally } from './tally.ts';
import { type OpenBytes, unpacked } from './unpack.ts';

export interface WarcImport {
  /** The file's bytes, as they are kept. */
  open: OpenBytes;
  /** Whose captures they are; asked once the file is read. */
  observer: (description: FileDescription) => string;
  signal: AbortSignal;
  /** Told how many captures of all that were read are recorded. */
  tell?: (done: number, total: number) => void;
}

/**
 * Imports a WARC file: reads all of it first, then records its captures in the order of their own times. What was
 * recorded before it was cancelled stays.
 *
 * @throws Problem `invalid_capture` where the file is no WARC, or is damaged from its beginning.
 */
export async function importWarc(
  services: WarcServices,
  { open, observer, signal, tell = () => {} }: WarcImport,
): Promise<CaptureResult> {
  const { store, receiver, settings } = services;
  const file = join(temporaryFolder(store.folder), `captures-${store.randomHex(16)}`);
  const spool = new CaptureSpool(file);
  const waiting: Waiting = { spool, room: new CaptureSpace(receiver), large: new Map() };
  const tally = new Tally();
  try {
    const maxBytesOf = (url: string) =>
      Math.floor(
        (sourceById(store.read, sourceIdOf(url))?.max_object_mb ?? settings().max_object_mb) * MEGABYTE,
      );
    const reading = {
      stage: store.blobs,
      maxBytesOf,
      receiver,
      maxUnpackedBytes: MAX_CAPTURE_UNPACKED_BYTES,
    };
    const description = await readWarcFile(reading, waiting, tally, unpacked(open), signal);
    await new CaptureRecorder(services, waiting, tally, observer(description)).run(signal, tell);
  } catch (error) {
    if (error instanceof DamagedCaptureFileError)
      throw new Problem('invalid_capture', `This is no WARC file that can be read: ${error.message}`);
    if (!signal.aborted) throw error;
  } finally {
    waiting.room.close();
    spool.close();
    await rm(file, { force: true });
    for (const staged of waiting.large.values()) await staged.discard();
  }
  return tally.result();
}
