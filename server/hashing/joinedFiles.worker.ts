import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { crc32 } from 'node:zlib';
import { answerParent } from '../runtime/answerParent.ts';
import { isMissing, isUnreadable } from '../store/files.ts';
import type { JoinedDigest } from './hashFiles.ts';

const { files } = workerData as { files: string[][] };
/** Fits into the cache of a core, as in `hashFileSync`. */
const buffer = Buffer.allocUnsafeSlow(262_144);

/** Reads a file, and returns whether all of it could be read. */
function read(file: string, receive: (chunk: Buffer) => void): boolean {
  try {
    const descriptor = openSync(file, 'r');
    try {
      for (;;) {
        const length = readSync(descriptor, buffer, 0, buffer.length, null);
        if (length === 0) return true;
        receive(buffer.subarray(0, length));
      }
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (isMissing(error) || isUnreadable(error)) return false;
    throw error;
  }
}

function hashJoined(joined: readonly string[]): JoinedDigest {
  const all = createHash('sha256');
  const blobs: (string | null)[] = [];
  let crc = 0;
  for (const file of joined) {
    // The digest of a single file is that of all.
    const each = joined.length > 1 ? createHash('sha256') : undefined;
    const isRead = read(file, (chunk) => {
      all.update(chunk);
      each?.update(chunk);
      crc = crc32(chunk, crc);
    });
    blobs.push(isRead ? (each?.digest('hex') ?? '') : null);
  }
  const sha256 = blobs.includes(null) ? null : all.digest('hex');
  return { sha256, crc, blobs: joined.length > 1 ? blobs : blobs.map(() => sha256) };
}

await answerParent(() => files.map(hashJoined));
