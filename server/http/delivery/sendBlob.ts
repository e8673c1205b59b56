import type { IncomingMessage, ServerResponse } from 'node:http';
import { Problem } from '../../../shared/problems.ts';
import { ifRangeMatches, isFresh, requirePreconditions } from './conditions.ts';
import type { PreparedBlob } from './prepareBlob.ts';
import { type ByteRange, rangesOf } from './ranges.ts';
import { type Part, sendParts, sizeOf } from './sendParts.ts';

/**
 * Answers with stored bytes: whole, one range or many (RFC 9110, section 14), or 304. The bytes never change, so the
 * entity tag is their digest and any cache may keep them for ever. Nothing of Express is used, so that the bytes can
 * be sent without it.
 *
 * @throws Problem `range_not_satisfiable`, `precondition_failed`; `blob_damaged` where the file is missing or has not
 * the size that its row says. Nothing is sent then, but where bytes were under way already: the caller cuts the
 * connection.
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
  // The digest of the bytes cannot occur in them, so it can part them.
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
  return new Problem('range_not_satisfiable', `The object has ${bytes} bytes; ask for a range within them.`, {
    headers: { 'Content-Range': `bytes */${bytes}` },
  });
}
