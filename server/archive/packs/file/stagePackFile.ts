import { MAX_PACK_BYTES } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import {
  type BlobStore,
  type StagedBlob,
  type StagedFile,
  TooManyBytesError,
} from '../../../store/blobs/blobStore.ts';
import type { CheckedRecord } from '../record.ts';
import { readPackFile } from './readPackFile.ts';

/** A staged upload, ready for `addPack`, which compares the files with the record. */
export interface StagedPackFile {
  /** The record in the pack file. */
  checked: CheckedRecord;
  /** The files, by the path in the record. */
  staged: Map<string, StagedBlob>;
}

/**
 * Stages a pack file from a stream. A ZIP must be read from its end, so the whole ZIP is staged first, then its files. The
 * ZIP itself is not stored.
 *
 * @throws Problem `pack_too_large` as soon as the limit is exceeded; problems of `readPackFile`. Nothing is left then.
 */
export async function stagePackFile(
  blobs: BlobStore,
  body: AsyncIterable<Uint8Array>,
): Promise<StagedPackFile> {
  const zip = await stageZip(blobs, body);
  try {
    const { checked, files } = await readPackFile<StagedBlob>(zip.file, {
      receive: (chunks, bytes) => blobs.staging.stage(chunks, bytes),
      discard: (staged) => staged.discard(),
    });
    return { checked, staged: files };
  } finally {
    await zip.discard();
  }
}

async function stageZip(blobs: BlobStore, body: AsyncIterable<Uint8Array>): Promise<StagedFile> {
  try {
    return await blobs.staging.stageFile(body, MAX_PACK_BYTES);
  } catch (error) {
    if (!(error instanceof TooManyBytesError)) throw error;
    throw packFileTooLarge();
  }
}

export function packFileTooLarge(): Problem {
  return new Problem(
    'pack_too_large',
    `A pack file can have at most ${MAX_PACK_BYTES} bytes. Split it into two packs.`,
  );
}
