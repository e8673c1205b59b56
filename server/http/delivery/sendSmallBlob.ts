import type { IncomingMessage, ServerResponse } from 'node:http';
import { readWhole } from './blobFile.ts';
import type { PreparedBlob } from './prepareBlob.ts';

/** Up to this much is sent this way. */
const MOST_BYTES = 65_536;

/**
 * Where bytes are read to and sent from, again and again: to ask for memory and have it collected costs as much as
 * reading some kilobytes does.
 */
let scratch = makeScratch();

/** Whether a request wants just the bytes, and they are few: no part of them, and no conditions. */
export function isPlainSmallRequest({ method, headers }: IncomingMessage, { blob }: PreparedBlob): boolean {
  return (
    blob.bytes <= MOST_BYTES &&
    method === 'GET' &&
    headers.range === undefined &&
    headers['if-match'] === undefined &&
    headers['if-none-match'] === undefined &&
    headers['if-modified-since'] === undefined &&
    headers['if-unmodified-since'] === undefined
  );
}

/**
 * Answers with little as a whole, in one write.
 *
 * @throws Problem `blob_damaged`; nothing is sent then
 */
export function sendSmallBlob(response: ServerResponse, { blob, wholeHead }: PreparedBlob): void {
  readWhole(blob, scratch);
  response.writeHead(200, wholeHead);
  response.end(scratch.subarray(0, blob.bytes));
  // The system has taken most answers by now. What it has not still lies in this memory, so the next needs another.
  if (response.writableLength > 0) scratch = makeScratch();
}

function makeScratch(): Buffer {
  return Buffer.allocUnsafeSlow(MOST_BYTES + 1);
}
