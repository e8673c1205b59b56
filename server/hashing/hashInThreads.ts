import { createHash, hash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { errorCode } from '../../shared/values/errorCode.ts';
import { inBackground } from '../runtime/background.ts';
import { workerUrl } from '../runtime/workerUrl.ts';

/** A file to hash, and its size when it was found. */
export type SizedFile = FileToHash & { bytes: number };

/** Files for a thread, which all need the same digests. */
export interface HashBatch {
  /** The index of the first file. */
  start: number;
  count: number;
  /** The sum of the sizes found before they were read. */
  bytes: number;
  /** Joined by zero bytes, which no path contains. */
  paths: string;
  algorithms: readonly string[];
}

/**
 * The results of a batch, as few values as possible: copying an object for each small file to another thread takes about
 * as long as hashing the file.
 */
export interface HashedBatch {
  /** The bytes read since the last message. */
  read: number;
  start: number;
  sizes: number[];
  /** The digests of all files in the order of the algorithms, joined by spaces; empty for a file that could not be read. */
  digests: string;
  /** The error codes of files that could not be read, by their place in the batch. */
  failures: Record<number, string>;
}

/** A batch ends at either limit. A message for each small file would take longer than hashing it. */
const BATCH_FILES = 256;
const BATCH_BYTES = 1_048_576;

/** Returns the files of the next batch; its length is 0 at the end. */
function batchFrom(files: readonly SizedFile[], start: number): HashBatch {
  const paths: string[] = [];
  const algorithms = files[start]?.algorithms ?? [];
  const wanted = algorithms.join();
  let bytes = 0;
  while (paths.length < BATCH_FILES && bytes < BATCH_BYTES) {
    const file = files[start + paths.length];
    if (!file || (file.algorithms !== algorithms && file.algorithms.join() !== wanted)) break;
    paths.push(file.path);
    bytes += file.bytes;
  }
  return { start, count: paths.length, bytes, paths: paths.join('\0'), algorithms };
}

export function pathsOf(paths: string): string[] {
  return paths.split('\0');
}

export function packBatch(
  hashed: readonly HashedFile[],
  algorithms: readonly string[],
): Pick<HashedBatch, 'sizes' | 'digests' | 'failures'> {
  const failures: Record<number, string> = {};
  const sizes: number[] = [];
  const digests: string[] = [];
  for (const [index, file] of hashed.entries()) {
    if ('failure' in file) failures[index] = file.failure;
    sizes.push('failure' in file ? 0 : file.bytes);
    for (const algorithm of algorithms)
      digests.push('failure' in file ? '' : (file.digests[algorithm] ?? ''));
  }
  return { sizes, digests: digests.join(' '), failures };
}

function unpackBatch(
  { paths, algorithms }: Pick<HashBatch, 'paths' | 'algorithms'>,
  { sizes, digests, failures }: Pick<HashedBatch, 'sizes' | 'digests' | 'failures'>,
): HashedFile[] {
  const each = digests.split(' ');
  return pathsOf(paths).map((path, index) => {
    const failure = failures[index];
    if (failure !== undefined) return { path, failure };
    const own: Record<string, string> = {};
    for (const [place, algorithm] of algorithms.entries())
      own[algorithm] = each[index * algorithms.length + place] ?? '';
    return { path, bytes: sizes[index] ?? 0, digests: own };
  });
}

/** A message of a thread: the bytes read since its last message or, at the end of a batch, the results too. */
type ThreadMessage = HashedBatch | { read: number };

/** More threads hash faster than disks read. */
const MAX_THREADS = 8;
/** Batches queued at each thread, so that it never waits for the next one; a batch of large files is not queued. */
const QUEUED = 3;
const QUEUED_BYTES = QUEUED * BATCH_BYTES;
/** The number of batches that may be hashed before the caller takes their results. */
const MAX_AHEAD = 64;
/** Results are short-lived strings. With a small young generation, collecting them takes a tenth of the time. */
const YOUNG_GENERATION_MB = 32;

/** A thread, and the sizes of the batches that it has not finished, oldest first. */
interface HashThread {
  worker: Worker;
  pending: number[];
}

/**
 * Hashes files in threads, one for each core; the thread with the least left to do takes the next batch of files. Yields
 * the results in batches, in the order of the files. Threads wait if the caller takes results slowly. Hashing begins
 * while the source still finds files; the source itself never waits, so that the total is known early.
 *
 * @param onRead called with numbers of bytes read
 * @throws the error of the source or of a thread; an Error if a thread ends early.
 */
export async function* hashInThreads(
  source: Iterable<readonly SizedFile[]> | AsyncIterable<readonly SizedFile[]>,
  onRead: (bytes: number) => void,
  threadUrl = workerUrl('hashThread', import.meta.url),
): AsyncGenerator<HashedFile[]> {
  const queue = new HashQueue(threadUrl, onRead);
  try {
    inBackground(() => queue.fillFrom(source));
    for (let hashed = await queue.next(); hashed; hashed = await queue.next()) yield hashed;
  } finally {
    await queue.close();
  }
}

class HashQueue {
  readonly #threads: HashThread[];
  readonly #files: SizedFile[] = [];
  readonly #onRead: (bytes: number) => void;
  /** The batches that were sent and not taken yet, by the index of their first file. */
  readonly #sent = new Map<number, { batch: HashBatch; hashed?: HashedFile[] }>();
  #begun = 0;
  #taken = 0;
  #isComplete = false;
  #isClosed = false;
  #failure: { error: unknown } | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(threadUrl: URL, onRead: (bytes: number) => void) {
    this.#onRead = onRead;
    const count = Math.min(availableParallelism(), MAX_THREADS);
    this.#threads = Array.from({ length: count }, () => this.#start(threadUrl));
  }

  async fillFrom(source: Iterable<readonly SizedFile[]> | AsyncIterable<readonly SizedFile[]>) {
    try {
      for await (const files of source) {
        if (this.#isClosed) return;
        for (const file of files) this.#files.push(file);
        this.#send();
      }
      this.#isComplete = true;
      this.#send();
      this.#wake();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Returns the results of the next batch, and undefined at the end. */
  async next(): Promise<HashedFile[] | undefined> {
    for (;;) {
      const hashed = this.#sent.get(this.#taken)?.hashed;
      if (hashed) {
        this.#sent.delete(this.#taken);
        this.#taken += hashed.length;
        this.#send();
        return hashed;
      }
      if (this.#isComplete && this.#taken === this.#files.length) return undefined;
      if (this.#failure) throw this.#failure.error;
      await this.#changed.promise;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
  }

  #start(url: URL): HashThread {
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB };
    const thread: HashThread = { worker: new Worker(url, { resourceLimits }), pending: [] };
    thread.worker.on('message', (message: ThreadMessage) => {
      this.#onRead(message.read);
      if (!('start' in message)) return;
      const batched = this.#sent.get(message.start);
      if (batched) batched.hashed = unpackBatch(batched.batch, message);
      thread.pending.shift();
      this.#send();
      this.#wake();
    });
    thread.worker.on('error', (error) => this.#fail(error));
    // A thread can end without an error. Its files would never be hashed.
    thread.worker.on('exit', (code) =>
      this.#fail(new Error(`A thread that hashes files ended early with code ${code}.`)),
    );
    return thread;
  }

  /** Sends batches to threads. While files are still being found, only full ones are sent. */
  #send(): void {
    while (this.#sent.size < MAX_AHEAD) {
      const left = this.#files.length - this.#begun;
      if (left === 0 || (left < BATCH_FILES && !this.#isComplete)) return;
      const thread = this.#leastBusy();
      if (!thread) return;
      const batch = batchFrom(this.#files, this.#begun);
      this.#sent.set(batch.start, { batch });
      this.#begun += batch.count;
      thread.pending.push(batch.bytes);
      thread.worker.postMessage(batch);
    }
  }

  /** Returns the thread with the fewest bytes left to hash, unless all have enough. */
  #leastBusy(): HashThread | undefined {
    let best: { thread: HashThread; bytes: number } | undefined;
    for (const thread of this.#threads) {
      const bytes = thread.pending.reduce((sum, each) => sum + each, 0);
      if (thread.pending.length >= QUEUED || bytes >= QUEUED_BYTES) continue;
      if (!best || bytes < best.bytes) best = { thread, bytes };
    }
    return best?.thread;
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake();
  }
}

/** The digests of a file, or the error code if it could not be read. */
export type HashedFile =
  | { path: string; bytes: number; digests: Record<string, string> }
  | { path: string; failure: string };

interface FileToHash {
  path: string;
  /** Node's names of the hash algorithms. */
  algorithms: readonly string[];
}

/** Fits into the cache of a core. With reads of 1 MiB, a large file took a third more processor time. */
const READ_BYTES = 262_144;
/** Reused for all files: allocating it takes longer than hashing a small file. Each thread has its own. */
let buffer: Buffer | undefined;

/** Hashes a file. Calls `onRead` with the number of bytes of each read. Returns file system errors as `failure`. */
export function hashFileSync({ path, algorithms }: FileToHash, onRead: (bytes: number) => void): HashedFile {
  try {
    return { path, ...hashOpenFile(path, algorithms, onRead) };
  } catch (error) {
    const failure = errorCode(error);
    if (failure === undefined) throw error;
    return { path, failure };
  }
}

function hashOpenFile(path: string, algorithms: readonly string[], onRead: (bytes: number) => void) {
  buffer ??= Buffer.allocUnsafeSlow(READ_BYTES);
  const descriptor = openSync(path, 'r');
  try {
    const first = fill(descriptor, buffer);
    onRead(first);
    if (first === buffer.length) return hashLongFile(descriptor, algorithms, onRead);
    // Hashing at once costs a third of what a `Hash` object costs for a small file.
    const content = buffer.subarray(0, first);
    const digests: Record<string, string> = {};
    for (const algorithm of algorithms) digests[algorithm] = hash(algorithm, content, 'hex');
    return { bytes: first, digests };
  } finally {
    closeSync(descriptor);
  }
}

/** Hashes a file whose first bytes are in the full buffer. */
function hashLongFile(descriptor: number, algorithms: readonly string[], onRead: (bytes: number) => void) {
  const hashes = algorithms.map((algorithm) => [algorithm, createHash(algorithm)] as const);
  const block = buffer as Buffer;
  let bytes = 0;
  for (let read = block.length; read > 0; ) {
    for (const [, each] of hashes) each.update(block.subarray(0, read));
    bytes += read;
    read = readSync(descriptor, block, 0, block.length, null);
    onRead(read);
  }
  return { bytes, digests: Object.fromEntries(hashes.map(([name, each]) => [name, each.digest('hex')])) };
}

/** Reads until the buffer is full or the file ends, and returns the number of bytes. */
export function fill(descriptor: number, into: Buffer): number {
  let length = 0;
  while (length < into.length) {
    const read = readSync(descriptor, into, length, into.length - length, null);
    if (read === 0) break;
    length += read;
  }
  return length;
}
