import { type FoundDigest, MAX_LOOKUP_DIGESTS } from '../../../../shared/archive/citation.ts';
import { call } from '../../api/client.ts';
import type { HashOutcome, VerifyReply, VerifyRequest } from './verify.worker.ts';

/** More workers than this compete for the same disk. */
const MAX_WORKERS = 6;
/** The next batch is queued while a worker hashes one, so that it never waits. */
const PER_WORKER = 2;

interface Running {
  count: number;
  done: (outcomes: HashOutcome[]) => void;
  progress: (bytes: number) => void;
}

/** Hashes batches of files in several workers. */
export class WorkerPool {
  readonly #workers: Worker[] = [];
  readonly #idle: Worker[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #running = new Map<number, Running>();
  #nextId = 1;
  #hasFailed = false;

  constructor() {
    const count = Math.max(1, Math.min(MAX_WORKERS, (navigator.hardwareConcurrency || 2) - 1));
    for (let index = 0; index < count; index += 1) {
      const worker = new Worker(new URL('./verify.worker.ts', import.meta.url), { type: 'module' });
      worker.onmessage = ({ data }: MessageEvent<VerifyReply>) => this.#onReply(worker, data);
      worker.onerror = () => this.#failAll();
      this.#workers.push(worker);
    }
    for (let turn = 0; turn < PER_WORKER; turn += 1) this.#idle.push(...this.#workers);
  }

  /** The number of batches that can be given at once. */
  get size(): number {
    return this.#idle.length + this.#running.size;
  }

  /** Whether the workers could not be loaded, or one of them ended. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Hashes a batch of files as soon as a worker is free. Calls `progress` with the bytes of a large file read so far. */
  async hash(files: readonly File[], progress: (bytes: number) => void): Promise<HashOutcome[]> {
    if (this.#idle.length === 0 && !this.#hasFailed)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#hasFailed) return failures(files.length);
    const worker = this.#idle.shift();
    const id = this.#nextId++;
    return new Promise((done) => {
      this.#running.set(id, { count: files.length, done, progress });
      worker?.postMessage({ id, files } satisfies VerifyRequest);
    });
  }

  #onReply(worker: Worker, reply: VerifyReply): void {
    const running = this.#running.get(reply.id);
    if ('bytes' in reply) return running?.progress(reply.bytes);
    this.#running.delete(reply.id);
    this.#idle.push(worker);
    this.#waiting.shift()?.();
    running?.done(reply.outcomes);
  }

  #failAll(): void {
    this.#hasFailed = true;
    for (const { count, done } of this.#running.values()) done(failures(count));
    this.#running.clear();
    for (const start of this.#waiting.splice(0)) start();
    this.close();
  }

  close(): void {
    for (const worker of this.#workers) worker.terminate();
  }
}

function failures(count: number): HashOutcome[] {
  const error = 'Hashing could not be started in this browser. Add the files again.';
  return Array.from({ length: count }, () => ({ sha256: null, error }));
}

/** How soon a failed look-up is tried again. */
const RETRY_MS = 3_000;
/** Lets more files be hashed, so that a batch is full. */
const GATHER_MS = 50;

/** Looks digests up in the archive, in batches. While the node cannot be reached, they wait. */
export class DigestLookups {
  /** What the archive answered: null if it does not have these bytes. */
  readonly found = new Map<string, FoundDigest | null>();
  readonly #asked = new Set<string>();
  readonly #onChange: (isOffline: boolean) => void;
  #toAsk: string[] = [];
  #isAsking = false;
  #isClosed = false;

  constructor(onChange: (isOffline: boolean) => void) {
    this.#onChange = onChange;
  }

  ask(sha256: string): void {
    if (this.#asked.has(sha256)) return;
    this.#asked.add(sha256);
    this.#toAsk.push(sha256);
    if (!this.#isAsking) void this.#askAll();
  }

  close(): void {
    this.#isClosed = true;
  }

  async #askAll(): Promise<void> {
    this.#isAsking = true;
    await pause(GATHER_MS);
    while (this.#toAsk.length > 0 && !this.#isClosed) {
      const waiting = this.#toAsk;
      this.#toAsk = [];
      for (let start = 0; start < waiting.length && !this.#isClosed; start += MAX_LOOKUP_DIGESTS)
        await this.#askFor(waiting.slice(start, start + MAX_LOOKUP_DIGESTS));
    }
    this.#isAsking = false;
  }

  async #askFor(batch: readonly string[]): Promise<void> {
    while (!this.#isClosed) {
      try {
        const { items } = await call('lookUpDigests', { query: { sha256: batch.join(',') } });
        for (const sha256 of batch) this.found.set(sha256, null);
        for (const item of items) this.found.set(item.sha256, item);
        return this.#onChange(false);
      } catch {
        this.#onChange(true);
        await pause();
      }
    }
  }
}

/** Waits, or less if the network comes back. */
export function pause(ms = RETRY_MS): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener('online', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    window.addEventListener('online', end);
  });
}
