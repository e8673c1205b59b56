import { Worker } from 'node:worker_threads';
import { workerUrl } from '../runtime/workerUrl.ts';
import type { FileToHash, HashedFile } from './hashFileSync.ts';

/** A message of a thread: the bytes read since its last message and, at the end of a file, the result. */
interface ThreadMessage {
  read: number;
  index?: number;
  hashed?: HashedFile;
}

/** Two threads hash as fast as most disks read. */
const THREADS = 2;
/** The number of files queued at each thread, so that it never waits for the next. */
const QUEUED = 2;

/**
 * Hashes files in threads; each free thread takes the next file. Yields the results in the order of the files. Calls
 * `onRead` with the number of bytes read.
 *
 * @throws the error of a thread; an Error if a thread ends early.
 */
export async function* hashInThreads(
  files: readonly FileToHash[],
  onRead: (bytes: number) => void,
  threadUrl = workerUrl('hashThread', import.meta.url),
): AsyncGenerator<HashedFile> {
  const threads = Array.from({ length: THREADS }, () => new Worker(threadUrl));
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
    const file = files[begun];
    if (file) thread.postMessage({ index: begun, file });
    begun += 1;
  };
  for (const thread of threads) {
    thread.on('message', ({ read, index, hashed }: ThreadMessage) => {
      onRead(read);
      if (index === undefined || !hashed) return;
      done.set(index, hashed);
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
