import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Problem } from '../../../shared/problems.ts';
import type { ByteRange } from './ranges.ts';

/*
 * The files of stored bytes, as they are read to be sent: none is read that has not the size that its row says. Little
 * is read synchronously, which is quicker than handing it to a thread.
 */

/** A file, and how many bytes it must have. */
export interface BlobFile {
  file: string;
  bytes: number;
}

/**
 * Opens a file to be read piece by piece.
 *
 * @throws Problem `blob_damaged`
 */
export async function openBlobFile({ file, bytes }: BlobFile): Promise<FileHandle> {
  const handle = await open(file, 'r').catch((error: unknown) => {
    throw isMissing(error) ? damaged(error) : error;
  });
  try {
    if ((await handle.stat()).size !== bytes) throw damaged();
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * The bytes of these ranges; of none, the file is looked at all the same.
 *
 * @throws Problem `blob_damaged`
 */
export function readRanges({ file, bytes }: BlobFile, ranges: readonly ByteRange[]): Buffer[] {
  return withOpened(file, (descriptor) => {
    if (fstatSync(descriptor).size !== bytes) throw damaged();
    return ranges.map(({ start, end }) => {
      const piece = Buffer.allocUnsafe(end - start + 1);
      for (let done = 0; done < piece.length; ) {
        const read = readSync(descriptor, piece, done, piece.length - done, start + done);
        if (read === 0) throw damaged();
        done += read;
      }
      return piece;
    });
  });
}

function withOpened<Result>(file: string, use: (descriptor: number) => Result): Result {
  const descriptor = openAtOnce(file);
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function openAtOnce(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (error) {
    throw isMissing(error) ? damaged(error) : error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** What whoever asks for bytes that are not all there is told. */
export function damaged(cause?: unknown): Problem {
  return new Problem(
    'blob_damaged',
    'The archive has lost these bytes or part of them. Ask its owner to audit the storage.',
    { cause },
  );
}
