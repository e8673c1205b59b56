import type { VerifyReply, VerifyRequest } from './verify.worker.ts';

/** More workers than this compete for the same disk. */
const MAX_WORKERS = 6;

export interface HashOutcome {
  sha256: string | null;
  error: string | null;
}

/** Hashes files in several workers, one file at a time in each, so that memory stays flat. */
export class WorkerPool {
  readonly #workers: Worker[] = [];
  readonly #idle: Worker[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #running = new Map<
    number,
    { done: (outcome: HashOutcome) => void; progress: (bytes: number) => void }
  >();
  #nextId = 1;

  constructor() {
    const count = Math.max(1, Math.min(MAX_WORKERS, (navigator.hardwareConcurrency || 2) - 1));
    for (let index = 0; index < count; index += 1) {
      const worker = new Worker(new URL('./verify.worker.ts', import.meta.url), { type: 'module' });
      worker.onmessage = ({ data }: MessageEvent<VerifyReply>) => this.#onReply(worker, data);
      worker.onerror = () => this.#failAll();
      this.#workers.push(worker);
      this.#idle.push(worker);
    }
  }

  get size(): number {
    return this.#workers.length;
  }

  /** Hashes one file as soon as a worker is free. */
  async hash(file: File, progress: (bytes: number) => void): Promise<HashOutcome> {
    if (this.#idle.length === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const worker = this.#idle.pop();
    const id = this.#nextId++;
    return new Promise((done) => {
      this.#running.set(id, { done, progress });
      worker?.postMessage({ id, file } satisfies VerifyRequest);
    });
  }

  #onReply(worker: Worker, reply: VerifyReply): void {
    const running = this.#running.get(reply.id);
    if ('bytes' in reply) return running?.progress(reply.bytes);
    this.#running.delete(reply.id);
    this.#idle.push(worker);
    this.#waiting.shift()?.();
    running?.done(
      'sha256' in reply ? { sha256: reply.sha256, error: null } : { sha256: null, error: reply.error },
    );
  }

  #failAll(): void {
    const error = 'Hashing could not be started in this browser.';
    for (const { done } of this.#running.values()) done({ sha256: null, error });
    this.#running.clear();
  }

  close(): void {
    for (const worker of this.#workers) worker.terminate();
  }
}
