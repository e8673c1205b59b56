import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { isPrematureClose } from './prematureClose.ts';

/** Short pieces are combined into chunks of about this length. */
const CHUNK_CHARACTERS = 262_144;

/** Sends text with its length. Long text that is generated in pieces is streamed with back-pressure instead. */
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
    if (!isPrematureClose(error)) throw error;
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
