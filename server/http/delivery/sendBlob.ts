import type { IncomingMessage, ServerResponse } from 'node:http';
import { Problem } from '../../../shared/problems.ts';
import { ifRangeMatches, isFresh, requirePreconditions } from './conditions.ts';
import type { PreparedBlob } from './prepareBlob.ts';
import { type ByteRange, rangesOf } from './ranges.ts';
import { type Part, sendParts, sizeOf } from './sendParts.ts';

/**
 * Sends a blob: all bytes, one or more ranges (RFC 9110, section 14), or 304. The bytes never change, so the entity tag
 * is their digest and caches may keep them forever. Works without Express.
 *
 * @throws Problem `range_not_satisfiable`, `precondition_failed`; `blob_damaged` if the file is missing or has the wrong
 * size. Usually nothing has been sent then; otherwise the caller must close the connection.
 */
export async function sendBlob(
  request: IncomingMessage,
  response: ServerResponse,
  ready: PreparedBlob,
): Promise<void> {
  const { blob, validators, headers } = ready;
  requirePreconditions(request, validators);
  if (isFresh(request, validators)) return void response.writeHead(304, headers).end();
  const ranges = ifRangeMatches(request, validators) ? rangesOf(request, blob.bytes) : undefined;
  if (ranges === 'unsatisfiable') throw unsatisfiable(blob.bytes);
  const { status, parts, after, more } = bodyOf(ready, ranges);
  const length = parts.reduce((sum, part) => sum + part.before.length + sizeOf(part), after.length);
  const isHead = request.method === 'HEAD';
  await sendParts(response, {
    status,
    headers: { ...headers, ...more, 'Content-Length': String(length) },
    file: blob.file,
    bytes: blob.bytes,
    parts: isHead ? [] : parts,
    after: isHead ? '' : after,
  });
}

interface Body {
  status: 200 | 206;
  parts: Part[];
  after: string;
  more: Record<string, string>;
}

function bodyOf({ blob: { sha256, bytes }, type }: PreparedBlob, ranges: ByteRange[] | undefined): Body {
  const [first, ...others] = ranges ?? [];
  if (first === undefined) {
    const whole = { before: '', start: 0, end: bytes - 1 };
    return { status: 200, parts: [whole], after: '', more: { 'Content-Type': type } };
  }
  if (others.length === 0) {
    const more = { 'Content-Type': type, 'Content-Range': contentRange(first, bytes) };
    return { status: 206, parts: [{ before: '', ...first }], after: '', more };
  }
  // The bytes cannot contain their own digest, so it is a safe boundary.
  const boundary = sha256;
  const parts = [first, ...others].map((range, index) => ({
    ...range,
    before: `${index ? '\r\n' : ''}--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: ${contentRange(range, bytes)}\r\n\r\n`,
  }));
  const more = { 'Content-Type': `multipart/byteranges; boundary=${boundary}` };
  return { status: 206, parts, after: `\r\n--${boundary}--\r\n`, more };
}

function contentRange({ start, end }: ByteRange, bytes: number): string {
  return `bytes ${start}-${end}/${bytes}`;
}

function unsatisfiable(bytes: number): Problem {
  return new Problem('range_not_satisfiable', `The object has ${bytes} bytes. Request a range within them.`, {
    headers: { 'Content-Range': `bytes */${bytes}` },
  });
}
