import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import type { WrittenReply } from '../reply.ts';

export type Chunks<Chunk> = AsyncIterable<Chunk> | Iterable<Chunk>;

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
    await setImmediate();
    turnStarted = performance.now();
  }
}

/** Returns the headers with which a browser saves the response as a file. */
export function attachmentHeaders(contentType: string, filename: string): Record<string, string> {
  return { 'Content-Type': contentType, 'Content-Disposition': `attachment; filename="${filename}"` };
}

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';
