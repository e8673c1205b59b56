import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Request, Response } from 'express';
import { MAX_PACK_BYTES } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import { after } from '../../runtime/background.ts';

/**
 * Returns the chunks of a request's body. Stopping early does not destroy the request, as a stream's own iterator would:
 * that would close the connection before the refusal is sent.
 */
export async function* bodyChunks(request: Metered): AsyncGenerator<Buffer> {
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    request[METER]?.(chunk.length);
    yield chunk;
  }
}

const METER = Symbol('meter');
type Metered = IncomingMessage & { [METER]?: (bytes: number) => void };

/** Calls the meter for each chunk of the body that is read. An error in the meter ends the reading. */
export function meterBody(request: Metered, meter: (bytes: number) => void): void {
  request[METER] = meter;
}

/** Reports bytes of the body that were not read with `bodyChunks`. */
function reportToMeter(request: Metered, bytes: number): void {
  request[METER]?.(bytes);
}

/**
 * Returns the chunks of a body and checks it meanwhile: its size, and after the last chunk the digest in the request's
 * headers (RFC 9530).
 *
 * @throws Problem of `tooLarge` as soon as the body is too large, or at once if its announced length is;
 * `digest_mismatch`, `invalid_digest_header`.
 */
export async function* checkedBodyChunks(
  request: IncomingMessage,
  maxBytes: number,
  tooLarge: () => Problem,
): AsyncGenerator<Buffer> {
  const expected = announcedDigests(request);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  const hash = expected.length > 0 ? createHash('sha256') : undefined;
  let bytes = 0;
  for await (const chunk of bodyChunks(request)) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge();
    hash?.update(chunk);
    yield chunk;
  }
  const actual = hash?.digest('base64');
  for (const { header, sha256 } of expected) {
    if (sha256 !== actual) throw digestMismatch(header, sha256, actual ?? '');
  }
}

const DIGEST_HEADERS = ['Repr-Digest', 'Content-Digest'] as const;

/** Returns the SHA-256 digests in the headers, in base64. Other algorithms are ignored. */
function announcedDigests(request: IncomingMessage): { header: string; sha256: string }[] {
  return DIGEST_HEADERS.flatMap((header) => {
    const value = request.headers[header.toLowerCase()];
    if (value === undefined) return [];
    return String(value)
      .split(',')
      .flatMap((member) => {
        const [, algorithm, base64 = ''] = MEMBER.exec(member.trim()) ?? [];
        if (algorithm === undefined) throw unreadable(header);
        if (algorithm !== 'sha-256') return [];
        const digest = Buffer.from(base64, 'base64');
        if (digest.length !== 32) throw unreadable(header);
        return [{ header, sha256: digest.toString('base64') }];
      });
  });
}

/** A member of a structured dictionary whose value is a byte sequence (RFC 9651), with optional parameters. */
const MEMBER = /^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):(?:\s*;.*)?$/;

function unreadable(header: string): Problem {
  return new Problem('invalid_digest_header', `${header} must have the form sha-256=:<base64 of 32 bytes>:`);
}

function digestMismatch(header: string, expected: string, actual: string): Problem {
  const message = `The SHA-256 of the body is sha-256=:${actual}:, but ${header} is sha-256=:${expected}:. Send it again.`;
  return new Problem('digest_mismatch', message, { errors: [{ path: '', message }] });
}

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
  const timer = after(MAX_DRAINED_MS, end);
  request.on('data', drain).once('end', end).once('close', end);
  request.resume();
}
