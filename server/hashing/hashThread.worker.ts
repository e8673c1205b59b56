import { parentPort } from 'node:worker_threads';
import { type FileToHash, hashFileSync } from './hashFileSync.ts';

/** Progress is sent after this many bytes, so that messages cost little compared to reading. */
const PROGRESS_EVERY_BYTES = 16_777_216;

parentPort?.on('message', ({ start, files }: { start: number; files: FileToHash[] }) => {
  let unreported = 0;
  const hashed = files.map((file) =>
    hashFileSync(file, (bytes) => {
      unreported += bytes;
      if (unreported < PROGRESS_EVERY_BYTES) return;
      parentPort?.postMessage({ read: unreported });
      unreported = 0;
    }),
  );
  parentPort?.postMessage({ read: unreported, start, hashed });
});
