import type { IncomingMessage, ServerResponse } from 'node:http';
import { readWhole } from './blobFile.ts';
import type { PreparedBlob } from './prepareBlob.ts';

/** Up to this much is sent this way. */
const MOST_BYTES = 65_536;

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
  // One byte more, which `readWhole` asks for too.
  const bytes = Buffer.allocUnsafe(blob.bytes + 1);
  readWhole(blob, bytes);
  response.writeHead(200, wholeHead);
  response.end(bytes.subarray(0, blob.bytes));
}
