import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { workerUrl } from '../runtime/workerUrl.ts';
import type { FileToHash, HashedFile } from './hashFileSync.ts';

/** A message of a thread: the bytes read since its last message and, at the end of a batch, the results. */
interface ThreadMessage {
  read: number;
  /** The index of the first file of the batch. */
  start?: number;
  hashed?: HashedFile[];
}

/** More threads hash faster than disks read. */
const MAX_THREADS = 8;
/** The number of batches queued at each thread, so that it never waits for the next. */
const QUEUED = 2;
/** A batch ends at either limit. A message for each small file would take longer than hashing it. */
const BATCH_FILES = 100;
const BATCH_BYTES = 1_048_576;

/**
 * Hashes files in threads, one for each core; each free thread takes the next batch of files. Yields the results in the
 * order of the files. Calls `onRead` with the number of bytes read.
 *
 * @throws the error of a thread; an Error if a thread ends early.
 */
export async function* hashInThreads(
  files: readonly (FileToHash & { bytes: number })[],
  onRead: (bytes: number) => void,
  threadUrl = workerUrl('hashThread', import.meta.url),
): AsyncGenerator<HashedFile> {
  const count = Math.min(availableParallelism(), MAX_THREADS);
  const threads = Array.from({ length: count }, () => new Worker(threadUrl));
  const done = new Map<number, HashedFile>();
  let begun = 0;
  let failure: Error | undefined;
  let changed = Promise.withResolvers<void>();
  const wake = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const fail = (error: Error) => {
    failure ??= error;
    wake();
  };
  const sendNext = (thread: Worker) => {
    const batch = batchFrom(files, begun);
    if (batch.length > 0) thread.postMessage({ start: begun, files: batch });
    begun += batch.length;
  };
  for (const thread of threads) {
    thread.on('message', ({ read, start, hashed }: ThreadMessage) => {
      onRead(read);
      if (start === undefined || !hashed) return;
      for (const [offset, each] of hashed.entries()) done.set(start + offset, each);
      sendNext(thread);
      wake();
    });
    thread.on('error', fail);
    // A thread can end without an error. Its files would never be hashed.
    thread.on('exit', (code) => fail(new Error(`A thread that hashes files ended early with code ${code}.`)));
    for (let queued = 0; queued < QUEUED; queued += 1) sendNext(thread);
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
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
}

/** Returns the files of the next batch, without the members that threads do not need. */
function batchFrom(files: readonly (FileToHash & { bytes: number })[], start: number): FileToHash[] {
  const batch: FileToHash[] = [];
  let bytes = 0;
  while (batch.length < BATCH_FILES && bytes < BATCH_BYTES) {
    const file = files[start + batch.length];
    if (!file) break;
    batch.push({ path: file.path, algorithms: file.algorithms });
    bytes += file.bytes;
  }
  return batch;
}
