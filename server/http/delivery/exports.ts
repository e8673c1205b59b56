import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { Problem } from '../../../shared/problems.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import type { ReaderLimits } from '../../config.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import type { Store } from '../../store/store.ts';
import type { WrittenReply } from '../reply.ts';

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

  /**
   * Begins at half of the limit: after the last export has ended, the log grows until its snapshot is closed and the log
   * is checkpointed. The current length is tolerated: earlier readers caused it, and SQLite resets the log when it can.
   */
  #watch(): void {
    if (this.#unsubscribe) return;
    this.#maxLogBytes = Math.max(this.#limits.maxWriteAheadLogBytes / 2, this.#store.logBytes());
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

type Chunks<Chunk> = AsyncIterable<Chunk> | Iterable<Chunk>;

/** Returns a reply that is streamed while it is generated, with back-pressure. HEAD does not generate it. */
export function streamReply(
  headers: Readonly<Record<string, string>>,
  chunks: () => Chunks<string | Uint8Array>,
): WrittenReply {
  return {
    write: async (response) => {
      const withHeaders = () => response.status(200).set({ 'Cache-Control': 'no-store', ...headers });
      if (response.req.method === 'HEAD') return void withHeaders().end();
      const generated = yieldingToEventLoop(chunks());
      try {
        // An error before the first chunk becomes a problem response.
        const first = await generated.next();
        if (first.done) return void withHeaders().end();
        await pipeline(Readable.from(prepend(first.value, generated), { objectMode: false }), withHeaders());
      } catch (error) {
        if (!response.closed) throw error;
      } finally {
        // If the reader disconnects, this closes what the generator holds open.
        await generated.return();
      }
    },
  };
}

async function* prepend<Chunk>(first: Chunk, rest: AsyncGenerator<Chunk, void>): AsyncGenerator<Chunk, void> {
  yield first;
  yield* rest;
}

/** The longest time that the generator runs before it yields to the event loop. */
const MAX_TURN_MS = 10;

/**
 * Yields to the event loop from time to time. Otherwise a synchronous generator whose chunks the socket accepts at once
 * would block all other requests.
 */
async function* yieldingToEventLoop<Chunk>(chunks: Chunks<Chunk>): AsyncGenerator<Chunk, void> {
  let turnStarted = performance.now();
  for await (const chunk of chunks) {
    yield chunk;
    if (performance.now() - turnStarted < MAX_TURN_MS) continue;
    await yieldToEventLoop();
    turnStarted = performance.now();
  }
}

/** Returns the headers with which a browser saves the response as a file. */
export function attachmentHeaders(contentType: string, filename: string): Record<string, string> {
  return { 'Content-Type': contentType, 'Content-Disposition': `attachment; filename="${filename}"` };
}

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

/** Whether a pipeline to a response failed because the reader disconnected. */
export function isPrematureClose(error: unknown): boolean {
  return errorCode(error) === 'ERR_STREAM_PREMATURE_CLOSE';
}
