import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Problem } from '../../../shared/problems.ts';

/**
 * The chunks of a request's body. Whoever stops early leaves the request as it is: destroying it, as a stream's own
 * iterator does, would cut the connection before the refusal is sent.
 */
export async function* chunksOf(request: Metered): AsyncGenerator<Buffer> {
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    request[METER]?.(chunk.length);
    yield chunk;
  }
}

const METER = Symbol('meter');
type Metered = IncomingMessage & { [METER]?: (bytes: number) => void };

/** Tells of each chunk of the body as it is read; what is thrown there ends the reading. */
export function meterBody(request: Metered, meter: (bytes: number) => void): void {
  request[METER] = meter;
}

/** Tells of bytes of the body that were read past `chunksOf`. */
export function reportToMeter(request: Metered, bytes: number): void {
  request[METER]?.(bytes);
}

/**
 * The chunks of a body, checked while they stream: not more than `maxBytes`, and the digest that the request's headers
 * say (RFC 9530), which is known when the last chunk was taken.
 *
 * @throws Problem of `tooLarge` as soon as it is too much, or at once where its length is announced;
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
  for await (const chunk of chunksOf(request)) {
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

/** The SHA-256 digests that the headers announce, in base64; other algorithms are nothing that this node checks. */
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

/** A member of a structured dictionary whose value is a byte sequence (RFC 9651), with parameters or without. */
const MEMBER = /^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):(?:\s*;.*)?$/;

function unreadable(header: string): Problem {
  return new Problem('invalid_digest_header', `${header} is written as sha-256=:<base64 of 32 bytes>:`);
}

function digestMismatch(header: string, expected: string, actual: string): Problem {
  const message = `The body hashes to sha-256=:${actual}:, ${header} says sha-256=:${expected}:. It was damaged on the way; send it again.`;
  return new Problem('digest_mismatch', message, { errors: [{ path: '', message }] });
}
