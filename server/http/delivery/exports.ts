import type { Response } from 'express';
import { Problem } from '../../../shared/problems.ts';
import type { ReaderLimits } from '../../config.ts';
import type { Store } from '../../store/store.ts';
import type { WrittenReply } from '../reply.ts';
import { type Chunks, streamReply } from './streamReply.ts';

/** When a refused client may retry. By then a stalled reader has been disconnected. */
const RETRY_AFTER_SECONDS = 60;

/**
 * The running exports, which are responses made from one snapshot of the database. SQLite cannot reset its write-ahead
 * log while a snapshot is open. So only a few exports run at once, and if the log grows too long the oldest one is
 * aborted before it is complete.
 */
export class Exports {
  readonly #store: Pick<Store, 'logBytes' | 'onCommit'>;
  readonly #limits: ReaderLimits;
  /** Oldest first. */
  readonly #running = new Set<Response>();
  #unsubscribe: (() => void) | undefined;
  /** The length of the log beyond which the oldest export is aborted. */
  #maxLogBytes = 0;

  constructor(store: Pick<Store, 'logBytes' | 'onCommit'>, limits: ReaderLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  /** Like the function `streamReply`, for chunks read from a snapshot. @throws Problem `busy` when it is written */
  streamReply(
    headers: Readonly<Record<string, string>>,
    chunks: () => Chunks<string | Uint8Array>,
  ): WrittenReply {
    return this.limited(streamReply(headers, chunks));
  }

  /** Counts a reply as an export. @throws Problem `busy` when it is written */
  limited(reply: WrittenReply): WrittenReply {
    return { write: (response) => this.#run(response, reply) };
  }

  async #run(response: Response, reply: WrittenReply): Promise<void> {
    if (this.#running.size >= this.#limits.maxConcurrentExports)
      throw busy(this.#limits.maxConcurrentExports);
    if (response.req.method === 'HEAD') return reply.write(response);
    this.#running.add(response);
    this.#watch();
    try {
      await reply.write(response);
    } finally {
      this.#running.delete(response);
      if (this.#running.size === 0) this.#unwatch();
    }
  }

  /** The current length of the log is tolerated: earlier readers caused it, and SQLite resets it when it can. */
  #watch(): void {
    if (this.#unsubscribe) return;
    this.#maxLogBytes = Math.max((this.#limits.maxWriteAheadLogBytes * 3) / 4, this.#store.logBytes());
    this.#unsubscribe = this.#store.onCommit(() => this.#abortOldest());
  }

  #unwatch(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  /** Usually the other exports block the log too. They are aborted one by one if it keeps growing. */
  #abortOldest(): void {
    const bytes = this.#store.logBytes();
    if (bytes <= this.#maxLogBytes) return;
    this.#maxLogBytes = bytes + this.#limits.maxWriteAheadLogBytes / 16;
    for (const oldest of this.#running) {
      if (oldest.destroyed) continue;
      oldest.destroy();
      return;
    }
  }
}

function busy(atOnce: number): Problem {
  return new Problem('busy', `The maximum of ${atOnce} exports is running. Try again in a minute.`, {
    headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
  });
}
