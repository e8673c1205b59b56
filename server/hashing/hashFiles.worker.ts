import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { isMissing, isUnreadable } from '../store/blobs/fileErrors.ts';

const { files } = workerData as { files: string[] };
const buffer = Buffer.allocUnsafe(1_048_576);

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

try {
  parentPort?.postMessage({ result: files.map(hashFile) });
} catch (error) {
  parentPort?.postMessage({ failure: error instanceof Error ? error.message : String(error) });
}
