import { Worker } from 'node:worker_threads';
import { workerUrl } from '../runtime/runWorker.ts';
import type { FileToHash, HashedFile } from './hashFileSync.ts';

/** What a lane says: bytes read since it last spoke, and with them, at a file's end, what came of the file. */
interface LaneMessage {
  read: number;
  index?: number;
  hashed?: HashedFile;
}

/** Two threads read and hash as fast as most disks give. */
const LANES = 2;
/** Files given to a lane before it has answered, so that it never waits for the next. */
const AHEAD = 2;

/** Hashes files in threads, each free thread taking the next file; gives them in the order in which they came. */
export async function* hashInThreads(
  files: readonly FileToHash[],
  tell: (bytes: number) => void,
): AsyncGenerator<HashedFile> {
  const lanes = Array.from({ length: LANES }, () => new Worker(workerUrl('hashThread', import.meta.url)));
  const done = new Map<number, HashedFile>();
  let begun = 0;
  let failure: Error | undefined;
  let changed = Promise.withResolvers<void>();
  const wake = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const giveNext = (lane: Worker) => {
    const file = files[begun];
    if (file) lane.postMessage({ index: begun, file });
    begun += 1;
  };
  for (const lane of lanes) {
    lane.on('message', ({ read, index, hashed }: LaneMessage) => {
      tell(read);
      if (index === undefined || !hashed) return;
      done.set(index, hashed);
      giveNext(lane);
      wake();
    });
    lane.on('error', (error: Error) => {
      failure = error;
      wake();
    });
    for (let ahead = 0; ahead < AHEAD; ahead += 1) giveNext(lane);
  }
  try {
    for (let index = 0; index < files.length; index += 1) {
      while (!done.has(index)) {
        if (failure) throw failure;
        await changed.promise;
      }
      yield done.get(index) as HashedFile;
      done.delete(index);
    }
  } finally {
    await Promise.all(lanes.map((lane) => lane.terminate()));
  }
}
