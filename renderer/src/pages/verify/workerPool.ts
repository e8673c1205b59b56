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
