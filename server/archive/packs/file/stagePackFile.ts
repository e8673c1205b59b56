import { MAX_PACK_BYTES } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import {
  type BlobStore,
  type StagedBlob,
  type StagedFile,
  TooManyBytesError,
} from '../../../store/blobs/blobStore.ts';
import { readPackFile } from './readPackFile.ts';

/** An upload as it waits to be added. */
export interface StagedPackFile {
  /** The record as the pack file has it. */
  record: unknown;
  /** The files, by the path that the record has. */
  staged: Map<string, StagedBlob>;
}

/**
 * Takes in a pack file as it streams. A ZIP is read from its end, so it is staged whole before its files are; its own
 * bytes are never kept.
 *
 * @throws Problem `pack_too_large` as soon as too much has come, or what `readPackFile` throws; nothing is left then.
 */
export async function stagePackFile(
  blobs: BlobStore,
  body: AsyncIterable<Uint8Array>,
): Promise<StagedPackFile> {
  const zip = await stageZip(blobs, body);
  try {
    const { sent, files } = await readPackFile<StagedBlob>(zip.file, {
      take: (chunks, bytes) => blobs.stage(chunks, bytes),
      drop: (staged) => staged.discard(),
    });
    return { record: sent, staged: files };
  } finally {
    await zip.discard();
  }
}

async function stageZip(blobs: BlobStore, body: AsyncIterable<Uint8Array>): Promise<StagedFile> {
  try {
    return await blobs.stageFile(body, MAX_PACK_BYTES);
  } catch (error) {
    if (!(error instanceof TooManyBytesError)) throw error;
    throw packFileTooLarge();
  }
}

export function packFileTooLarge(): Problem {
  return new Problem(
    'pack_too_large',
    `A pack file has at most ${MAX_PACK_BYTES} bytes. Make two packs of it.`,
  );
}
