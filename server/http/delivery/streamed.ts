import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import type { WrittenReply } from '../reply.ts';

export type Pieces<Piece> = AsyncIterable<Piece> | Iterable<Piece>;

/** A long answer that is sent as it is made, as fast as its reader takes it; it is made for who reads it alone. */
export function streamed(
  headers: Readonly<Record<string, string>>,
  pieces: () => Pieces<string | Uint8Array>,
): WrittenReply {
  return {
    write: async (response) => {
      const headed = () => response.status(200).set({ 'Cache-Control': 'no-store', ...headers });
      if (response.req.method === 'HEAD') return void headed().end();
      const made = paced(pieces());
      try {
        // Whatever fails before there is anything to send is told as a problem.
        const first = await made.next();
        if (first.done) return void headed().end();
        await pipeline(Readable.from(resumed(first.value, made), { objectMode: false }), headed());
      } catch (error) {
        if (!response.closed) throw error;
      } finally {
        // A reader who goes away ends the iteration, and with it what it holds open.
        await made.return();
      }
    },
  };
}

async function* resumed<Piece>(first: Piece, rest: AsyncGenerator<Piece, void>): AsyncGenerator<Piece, void> {
  yield first;
  yield* rest;
}

/** For so long pieces are made one after the other before others have their turn. */
const TURN_MS = 10;

/**
 * Lets others have their turn. Where pieces are made without waiting and the socket takes them at once, nothing else
 * would run until the end.
 */
async function* paced<Piece>(pieces: Pieces<Piece>): AsyncGenerator<Piece, void> {
  let turned = performance.now();
  for await (const piece of pieces) {
    yield piece;
    if (performance.now() - turned < TURN_MS) continue;
    await setImmediate();
    turned = performance.now();
  }
}

/** Headers of an answer that a browser keeps as a file. */
export function attachmentHeaders(contentType: string, filename: string): Record<string, string> {
  return { 'Content-Type': contentType, 'Content-Disposition': `attachment; filename="${filename}"` };
}

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';
