import type { IncomingMessage, ServerResponse } from 'node:http';
import { readFileInto } from './blobFile.ts';
import type { PreparedBlob } from './prepareBlob.ts';

/** The largest blob that is sent this way. */
const MAX_BYTES = 65_536;

/** A buffer that is reused for all responses. Allocating and collecting one costs as much as reading a few kilobytes. */
let scratch = makeScratch();

/** Returns whether a request is a GET without range or conditions, for a small blob. */
export function isPlainSmallRequest({ method, headers }: IncomingMessage, { blob }: PreparedBlob): boolean {
  return (
    blob.bytes <= MAX_BYTES &&
    method === 'GET' &&
    headers.range === undefined &&
    headers['if-match'] === undefined &&
    headers['if-none-match'] === undefined &&
    headers['if-modified-since'] === undefined &&
    headers['if-unmodified-since'] === undefined
  );
}

/**
 * Sends a small blob in one write.
 *
 * @throws Problem `blob_damaged`, before anything is sent.
 */
export function sendSmallBlob(response: ServerResponse, { blob, wholeHead }: PreparedBlob): void {
  readFileInto(blob, scratch);
  response.writeHead(200, wholeHead);
  response.end(scratch.subarray(0, blob.bytes));
  // Usually the kernel has copied the bytes by now. Otherwise the buffer is still in use and must be replaced.
  if (response.writableLength > 0) scratch = makeScratch();
}

function makeScratch(): Buffer {
  return Buffer.allocUnsafeSlow(MAX_BYTES + 1);
}
