import { type FoundDigest, MAX_LOOKUP_DIGESTS } from '../../../../shared/archive/citation.ts';
import type { KnownPage } from '../../../../shared/proof/evidence/evidencePage.ts';
import { call } from '../../api/client.ts';
import type {
  BagOutcome,
  EvidenceOutcome,
  HashOutcome,
  VerifyReply,
  VerifyRequest,
} from './verify.worker.ts';

/** More workers than this compete for the same disk. */
const MAX_WORKERS = 6;
/** The next batch is queued while a worker hashes one, so that it never waits. */
const PER_WORKER = 2;

/** What a worker does. It is settled once: by the reply, or because the workers failed or were closed. */
interface Task<Outcome> {
  request: Omit<VerifyRequest, 'id'>;
  outcomeIn: (reply: VerifyReply) => Outcome | undefined;
  /** If the workers do not answer. */
  failed: Outcome;
  progress?: (bytes: number) => void;
}

interface Running {
  onReply: (reply: VerifyReply) => void;
  fail: () => void;
}

/** Hashes batches of files in several workers. */
export class WorkerPool {
  readonly #workers: Worker[] = [];
  readonly #idle: Worker[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #running = new Map<number, Running>();
  #nextId = 1;
  #hasFailed = false;

  constructor(createWorker = startWorker) {
    const count = Math.max(1, Math.min(MAX_WORKERS, (navigator.hardwareConcurrency || 2) - 1));
    for (let index = 0; index < count; index += 1) {
      const worker = createWorker();
      worker.onmessage = ({ data }: MessageEvent<VerifyReply>) => this.#running.get(data.id)?.onReply(data);
      worker.onerror = () => this.close();
      this.#workers.push(worker);
    }
    for (let turn = 0; turn < PER_WORKER; turn += 1) this.#idle.push(...this.#workers);
  }

  /** The number of batches that can be given at once. */
  get size(): number {
    return this.#workers.length * PER_WORKER;
  }

  /** Whether the workers could not be loaded, one of them ended, or they were closed. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Hashes a batch of files as soon as a worker is free. Calls `progress` with the bytes of a large file read so far. */
  hash(files: readonly File[], progress: (bytes: number) => void): Promise<HashOutcome[]> {
    return this.#do({
      request: { files },
      outcomeIn: (reply) => ('outcomes' in reply ? reply.outcomes : undefined),
      failed: failures(files.length),
      progress,
    });
  }

  /** Verifies a file that may be evidence as soon as a worker is free. */
  verifyEvidence(file: File, pages: readonly KnownPage[]): Promise<EvidenceOutcome> {
    return this.#do({
      request: { evidence: file, pages },
      outcomeIn: (reply) => ('evidence' in reply ? reply.evidence : undefined),
      failed: null,
    });
  }

  /** Verifies a file that may be a pack file or a bag as soon as a worker is free. */
  verifyBag(file: File, pages: readonly KnownPage[]): Promise<BagOutcome> {
    return this.#do({
      request: { bag: file, pages },
      outcomeIn: (reply) => ('bag' in reply ? reply.bag : undefined),
      failed: null,
    });
  }

  async #do<Outcome>({ request, outcomeIn, failed, progress }: Task<Outcome>): Promise<Outcome> {
    // Another task may have taken the worker that became free.
    while (this.#idle.length === 0 && !this.#hasFailed)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const worker = this.#hasFailed ? undefined : this.#idle.shift();
    if (!worker) return failed;
    const id = this.#nextId++;
    return new Promise((done) => {
      const onReply = (reply: VerifyReply) => {
        if ('bytes' in reply) return progress?.(reply.bytes);
        this.#running.delete(id);
        this.#idle.push(worker);
        this.#waiting.shift()?.();
        done(outcomeIn(reply) ?? failed);
      };
      this.#running.set(id, { onReply, fail: () => done(failed) });
      worker.postMessage({ id, ...request });
    });
  }

  /** Ends the workers. What they were asked, and what waits for them, fails. */
  close(): void {
    this.#hasFailed = true;
    for (const worker of this.#workers) worker.terminate();
    for (const { fail } of this.#running.values()) fail();
    this.#running.clear();
    for (const start of this.#waiting.splice(0)) start();
  }
}

function startWorker(): Worker {
  return new Worker(new URL('./verify.worker.ts', import.meta.url), { type: 'module' });
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
