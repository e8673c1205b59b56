import { parentPort } from 'node:worker_threads';
import { type FileToHash, hashFileSync } from './hashFileSync.ts';

/** Progress is told when this much was read, so that a message costs nothing beside the reading. */
const TELL_EVERY_BYTES = 16_777_216;

parentPort?.on('message', ({ index, file }: { index: number; file: FileToHash }) => {
  let untold = 0;
  const hashed = hashFileSync(file, (bytes) => {
    untold += bytes;
    if (untold < TELL_EVERY_BYTES) return;
    parentPort?.postMessage({ read: untold });
    untold = 0;
  });
  parentPort?.postMessage({ read: untold, index, hashed });
});
