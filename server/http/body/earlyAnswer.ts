import type { Request, Response } from 'express';
import { MAX_PACK_BYTES } from '../../../shared/limits.ts';
import { reportToMeter } from './requestBody.ts';

/** What a refused client may still send before it is cut off: as much as two of the largest packs. */
const MAX_DRAINED_BYTES = 2 * MAX_PACK_BYTES;
const MAX_DRAINED_MS = 20_000;
/** An unread body of this announced length is read to its end by Node itself, and the connection lives on. */
const SMALL_BYTES = 65_536;

/** Whether the client is still sending a body that nobody will read. */
export function isStillSending(request: Request): boolean {
  const { 'content-length': length, 'transfer-encoding': transferEncoding } = request.headers;
  if (request.complete) return false;
  return transferEncoding !== undefined || Number(length ?? 0) > SMALL_BYTES;
}

/**
 * Answers a client that is still sending. A connection that is closed while bytes come in is reset, and the client
 * would lose the answer; so the answer is written whole, what comes is thrown away for a while, and then the
 * connection is closed.
 */
export function respondEarly(request: Request, response: Response, body: string): void {
  response.set({ Connection: 'close', 'Content-Length': String(Buffer.byteLength(body)) });
  response.write(body);
  let drained = 0;
  const end = () => {
    clearTimeout(timer);
    request.off('data', drain);
    response.end();
  };
  const drain = (chunk: Buffer) => {
    drained += chunk.length;
    reportToMeter(request, chunk.length);
    if (drained > MAX_DRAINED_BYTES) end();
  };
  const timer = setTimeout(end, MAX_DRAINED_MS);
  request.on('data', drain).once('end', end).once('close', end);
  request.resume();
}
