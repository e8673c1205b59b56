import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { answerParent } from '../runtime/answerParent.ts';
import { isMissing, isUnreadable } from '../store/files.ts';

const { files } = workerData as { files: string[] };
/** Fits into the cache of a core, as in `hashFileSync`. */
const buffer = Buffer.allocUnsafeSlow(262_144);

function hashFile(file: string): string | null {
  try {
    return hashReadable(file);
  } catch (error) {
    if (isMissing(error) || isUnreadable(error)) return null;
    throw error;
  }
}

function hashReadable(file: string): string {
  const descriptor = openSync(file, 'r');
  try {
    const hash = createHash('sha256');
    for (;;) {
      const read = readSync(descriptor, buffer, 0, buffer.length, null);
      if (read === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, read));
    }
  } finally {
    closeSync(descriptor);
  }
}

await answerParent(() => files.map(hashFile));
