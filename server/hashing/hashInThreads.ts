import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { workerUrl } from '../runtime/workerUrl.ts';
import { batchFrom, type HashBatch, type HashedBatch, unpackBatch } from './hashBatch.ts';
import type { FileToHash, HashedFile } from './hashFileSync.ts';

/** A message of a thread: the bytes read since its last message or, at the end of a batch, the results too. */
type ThreadMessage = HashedBatch | { read: number };

/** More threads hash faster than disks read. */
const MAX_THREADS = 8;
/** The number of batches queued at each thread, so that it never waits for the next. */
const QUEUED = 2;
/** The number of batches that may be hashed before the caller takes their results. */
const MAX_AHEAD = 64;

/**
 * Hashes files in threads, one for each core; each free thread takes the next batch of files. Yields the results in
 * batches, in the order of the files. Threads wait if the caller takes results slowly. Calls `onRead` with the number of
 * bytes read.
 *
 * @throws the error of a thread; an Error if a thread ends early.
 */
export async function* hashInThreads(
  files: readonly (FileToHash & { bytes: number })[],
  onRead: (bytes: number) => void,
  threadUrl = workerUrl('hashThread', import.meta.url),
): AsyncGenerator<HashedFile[]> {
  const count = Math.min(availableParallelism(), MAX_THREADS);
  const threads = Array.from({ length: count }, () => new Worker(threadUrl));
  /** The batches that were sent and not yielded yet, by the index of their first file. */
  const sent = new Map<number, { batch: HashBatch; hashed?: HashedFile[] }>();
  /** Threads that could take another batch. */
  const free: Worker[] = threads.flatMap((thread) => Array<Worker>(QUEUED).fill(thread));
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
  const sendNext = () => {
    while (begun < files.length && sent.size < MAX_AHEAD) {
      const thread = free.shift();
      if (!thread) return;
      const batch = batchFrom(files, begun);
      sent.set(begun, { batch });
      begun += batch.count;
      thread.postMessage(batch);
    }
  };
  for (const thread of threads) {
    thread.on('message', (message: ThreadMessage) => {
      onRead(message.read);
      if (!('start' in message)) return;
      const batched = sent.get(message.start);
      if (batched) batched.hashed = unpackBatch(batched.batch, message);
      free.push(thread);
      sendNext();
      wake();
    });
    thread.on('error', fail);
    // A thread can end without an error. Its files would never be hashed.
    thread.on('exit', (code) => fail(new Error(`A thread that hashes files ended early with code ${code}.`)));
  }
  sendNext();
  try {
    for (let index = 0; index < files.length; ) {
      const hashed = sent.get(index)?.hashed;
      if (hashed) {
        sent.delete(index);
        sendNext();
        yield hashed;
        index += hashed.length;
      } else {
        if (failure) throw failure;
        await changed.promise;
      }
    }
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
}
