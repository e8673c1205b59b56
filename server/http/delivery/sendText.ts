import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';

/** Pieces are sent together until they are about this long. */
const CHUNK_CHARACTERS = 262_144;

/** Sends text whole with its length, or, where it comes in pieces and is long, as fast as the reader takes it. */
export async function sendText(response: Response, text: string | Iterable<string>): Promise<void> {
  if (typeof text === 'string') return void response.send(text);
  const chunks = chunked(text);
  const first = chunks.next();
  const second = first.done ? first : chunks.next();
  if (first.done || second.done) return void response.send(first.value ?? '');
  try {
    await pipeline(
      Readable.from(
        (function* () {
          yield first.value;
          yield second.value;
          yield* chunks;
        })(),
      ),
      response,
    );
  } catch (error) {
    // A reader that goes away in the middle is no fault of ours.
    if (error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    throw error;
  }
}

function* chunked(pieces: Iterable<string>): Generator<string, undefined> {
  let chunk = '';
  for (const piece of pieces) {
    chunk += piece;
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk) yield chunk;
}
