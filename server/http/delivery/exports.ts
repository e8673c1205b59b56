import type { Response } from 'express';
import { Problem } from '../../../shared/problems.ts';
import type { ReaderLimits } from '../../config.ts';
import type { Store } from '../../store/store.ts';
import type { WrittenReply } from '../reply.ts';
import { type Pieces, streamed } from './streamed.ts';

/** Who is refused for want of a place asks again after this; a reader that stalls has lost its own by then. */
const RETRY_AFTER_SECONDS = 60;

/**
 * The exports that run: answers made from one snapshot of the database. SQLite cannot begin its log anew while a
 * snapshot is open, so a few of them run at once, and none lasts while the log grows long: the oldest is ended before
 * that, without its last bytes.
 */
export class Exports {
  readonly #store: Pick<Store, 'logBytes' | 'onCommit'>;
  readonly #limits: ReaderLimits;
  /** Oldest first. */
  readonly #running = new Set<Response>();
  #unsubscribe: (() => void) | undefined;
  /** Beyond this length of the log the oldest is ended. */
  #endBeyond = 0;

  constructor(store: Pick<Store, 'logBytes' | 'onCommit'>, limits: ReaderLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  /** As `streamed`, for pieces that are made from a snapshot. @throws Problem `busy`, as it is written */
  streamed(
    headers: Readonly<Record<string, string>>,
    pieces: () => Pieces<string | Uint8Array>,
  ): WrittenReply {
    const reply = streamed(headers, pieces);
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

  /** What the log has grown to already is not this export's doing: SQLite begins it anew at the next commit if it can. */
  #watch(): void {
    if (this.#unsubscribe) return;
    this.#endBeyond = Math.max((this.#limits.maxWriteAheadLogBytes * 3) / 4, this.#store.logBytes());
    this.#unsubscribe = this.#store.onCommit(() => this.#endOldest());
  }

  #unwatch(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  /** Mostly the others hold the log too; they are ended one after the other as it grows on. */
  #endOldest(): void {
    const bytes = this.#store.logBytes();
    if (bytes <= this.#endBeyond) return;
    this.#endBeyond = bytes + this.#limits.maxWriteAheadLogBytes / 16;
    for (const oldest of this.#running) {
      if (oldest.destroyed) continue;
      oldest.destroy();
      return;
    }
  }
}

function busy(atOnce: number): Problem {
  return new Problem(
    'busy',
    `${atOnce} exports are running, and no more run at once. Try again in a minute.`,
    {
      headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
    },
  );
}
