import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { ByteParts } from '../../../shared/collection/diff.ts';

const PIECE = 1_048_576;
/** Bytes shown before the first difference, and from it on. */
const BEFORE = 16;
const AFTER = 48;

/** The result of comparing two files byte by byte, with their SHA-256 digests. */
export interface ByteComparison extends ByteParts {
  sha256: { from: string; to: string };
}

/**
 * Compares two whole files byte by byte, a piece at a time, so memory use does not depend on their size. Hashes both, so
 * that the caller can verify them.
 *
 * @throws the file system's error if a file cannot be read.
 */
export async function compareBytes(from: string, to: string, signal?: AbortSignal): Promise<ByteComparison> {
  const left = await open(from);
  try {
    const right = await open(to);
    try {
      return await compareHandles(left, right, signal);
    } finally {
      await right.close();
    }
  } finally {
    await left.close();
  }
}

async function compareHandles(
  left: FileHandle,
  right: FileHandle,
  signal: AbortSignal | undefined,
): Promise<ByteComparison> {
  const hashes = { from: createHash('sha256'), to: createHash('sha256') };
  const pieces = { from: Buffer.allocUnsafe(PIECE), to: Buffer.allocUnsafe(PIECE) };
  const lengths = { from: 0, to: 0 };
  let first: number | null = null;
  for (;;) {
    signal?.throwIfAborted();
    const offset = lengths.from;
    const [one, other] = await Promise.all([
      fill(left, pieces.from, lengths.from),
      fill(right, pieces.to, lengths.to),
    ]);
    if (one.length === 0 && other.length === 0) break;
    hashes.from.update(one);
    hashes.to.update(other);
    if (first === null && !one.equals(other)) first = offset + firstDifference(one, other);
    lengths.from += one.length;
    lengths.to += other.length;
  }
  return {
    summary: { length_change: lengths.to - lengths.from, first_difference: first },
    around: first === null ? null : await around(left, right, Math.max(0, first - BEFORE), first + AFTER),
    sha256: { from: hashes.from.digest('hex'), to: hashes.to.digest('hex') },
  };
}

/** Fills the buffer; reads less only at the end of the file. */
async function fill(handle: FileHandle, buffer: Buffer, position: number): Promise<Buffer> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

function firstDifference(left: Buffer, right: Buffer): number {
  const length = Math.min(left.length, right.length);
  // A binary search with native comparisons is much faster than a loop over all bytes.
  let start = 0;
  let end = length;
  while (end - start > 64) {
    const middle = (start + end) >> 1;
    if (left.compare(right, start, middle, start, middle) === 0) start = middle;
    else end = middle;
  }
  while (start < length && left[start] === right[start]) start += 1;
  return start;
}

async function around(
  left: FileHandle,
  right: FileHandle,
  offset: number,
  end: number,
): Promise<ByteParts['around']> {
  const read = async (handle: FileHandle) =>
    (await fill(handle, Buffer.allocUnsafe(end - offset), offset)).toString('hex');
  return { offset, from: await read(left), to: await read(right) };
}
