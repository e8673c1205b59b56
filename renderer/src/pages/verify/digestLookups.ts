import { type FoundDigest, MAX_LOOKUP_DIGESTS } from '../../../../shared/archive/lookup.ts';
import { call } from '../../api/client.ts';

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
