import type { Request, Response } from 'express';
import { MAX_PACK_BYTES } from '../../../shared/limits.ts';
import { reportToMeter } from './requestBody.ts';

/** How much a refused client may still send before it is disconnected: the size of two of the largest packs. */
const MAX_DRAINED_BYTES = 2 * MAX_PACK_BYTES;
const MAX_DRAINED_MS = 20_000;
/** Node itself reads unread bodies up to this length, and keeps the connection open. */
const SMALL_BYTES = 65_536;

/** Returns whether the client is still sending a body that nobody will read. */
export function isStillSending(request: Request): boolean {
  const { 'content-length': length, 'transfer-encoding': transferEncoding } = request.headers;
  if (request.complete) return false;
  return transferEncoding !== undefined || Number(length ?? 0) > SMALL_BYTES;
}

/**
 * Responds to a client that is still sending. Closing the connection at once would reset it, and the client would lose
 * the response. So the response is sent, incoming bytes are discarded for a while, and then the connection is closed.
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
