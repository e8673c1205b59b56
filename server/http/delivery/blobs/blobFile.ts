import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Problem } from '../../../../shared/problems.ts';
import { errorCode } from '../../../../shared/values/errorCode.ts';
import type { ByteRange } from '../ranges.ts';

/*
 * Reads the files of stored blobs. A file is only read if it has the size recorded in the database. Small reads are
 * synchronous, which is faster than using the thread pool.
 */

/** A file, and the size that it must have. */
export interface BlobFile {
  file: string;
  bytes: number;
}

/**
 * Opens a file for reading in chunks.
 *
 * @throws Problem `blob_damaged`
 */
export async function openBlobFile({ file, bytes }: BlobFile): Promise<FileHandle> {
  const handle = await open(file, 'r').catch((error: unknown) => {
    throw errorCode(error) === 'ENOENT' ? blobDamaged(error) : error;
  });
  try {
    if ((await handle.stat()).size !== bytes) throw blobDamaged();
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Returns the bytes of these ranges. The file's size is checked even if there are no ranges.
 *
 * @throws Problem `blob_damaged`
 */
export function readRanges({ file, bytes }: BlobFile, ranges: readonly ByteRange[]): Buffer[] {
  return withOpened(file, (descriptor) => {
    if (fstatSync(descriptor).size !== bytes) throw blobDamaged();
    return ranges.map(({ start, end }) => {
      const piece = Buffer.allocUnsafe(end - start + 1);
      for (let done = 0; done < piece.length; ) {
        const read = readSync(descriptor, piece, done, piece.length - done, start + done);
        if (read === 0) throw blobDamaged();
        done += read;
      }
      return piece;
    });
  });
}

function withOpened<Result>(file: string, use: (descriptor: number) => Result): Result {
  const descriptor = openExisting(file);
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function openExisting(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (error) {
    throw errorCode(error) === 'ENOENT' ? blobDamaged(error) : error;
  }
}

/** Returns the problem for bytes that are lost or incomplete. */
export function blobDamaged(cause?: unknown): Problem {
  return new Problem(
    'blob_damaged',
    'The archive has lost these bytes or part of them. Ask its owner to audit the storage.',
    { cause },
  );
}
