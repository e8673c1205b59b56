import { parentPort } from 'node:worker_threads';
import { type HashBatch, type HashedBatch, hashFileSync, packBatch, pathsOf } from './hashInThreads.ts';

/** Progress is sent after this many bytes, so that messages cost little compared to reading. */
const PROGRESS_EVERY_BYTES = 16_777_216;

parentPort?.on('message', ({ start, paths, algorithms }: HashBatch) => {
  let unreported = 0;
  const onRead = (bytes: number) => {
    unreported += bytes;
    if (unreported < PROGRESS_EVERY_BYTES) return;
    parentPort?.postMessage({ read: unreported });
    unreported = 0;
  };
  const hashed = pathsOf(paths).map((path) => hashFileSync({ path, algorithms }, onRead));
  const message: HashedBatch = { read: unreported, start, ...packBatch(hashed, algorithms) };
  parentPort?.postMessage(message);
});
