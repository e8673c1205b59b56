import { type IncomingMessage, type ServerResponse, validateHeaderValue } from 'node:http';
import { Problem } from '../../shared/problems.ts';
import { isFresh, rangeHolds, requirePreconditions, type Validators } from './conditions.ts';
import { type ByteRange, rangesOf } from './ranges.ts';
import { type Part, sendParts, sizeOf } from './sendParts.ts';

/** Stored bytes that are sent: where they lie, their digest and how many they must be. */
export interface SentBlob {
  file: string;
  sha256: string;
  bytes: number;
  /** When the bytes were stored (RFC 3339), sent as Last-Modified. */
  storedAt?: string;
}

export interface SentBlobOptions {
  contentType: string;
  /** The whole value of Content-Disposition. */
  disposition?: string;
  /** Sent besides, and instead of headers of the same name. */
  headers?: Record<string, string>;
}

/** Stored bytes, and how they are to be sent. */
export interface StoredBytes {
  blob: SentBlob;
  options: SentBlobOptions;
}

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
  blob: SentBlob,
  { contentType, disposition, headers }: SentBlobOptions,
): Promise<void> {
  const validators: Validators = { etag: `"${blob.sha256}"`, lastModified: lastModifiedOf(blob) };
  requirePreconditions(request, validators);
  const common = commonHeaders(blob, validators, disposition);
  if (isFresh(request, validators)) {
    return void response.writeHead(304, { ...common, ...headers }).end();
  }
  const ranges = rangeHolds(request, validators) ? rangesOf(request, blob.bytes) : undefined;
  if (ranges === 'unsatisfiable') throw unsatisfiable(blob.bytes);
  const { status, parts, after, more } = bodyOf(blob, ranges, sendableType(contentType));
  const length = parts.reduce((sum, part) => sum + part.before.length + sizeOf(part), after.length);
  const isHead = request.method === 'HEAD';
  await sendParts(response, {
    status,
    headers: { ...common, ...more, ...headers, 'Content-Length': String(length) },
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

function bodyOf({ sha256, bytes }: SentBlob, ranges: ByteRange[] | undefined, type: string): Body {
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

function commonHeaders(
  { sha256 }: SentBlob,
  { etag, lastModified }: Validators,
  disposition: string | undefined,
): Record<string, string> {
  return {
    ETag: etag,
    'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    'Cache-Control': 'public, max-age=31536000, immutable',
    'Accept-Ranges': 'bytes',
    'X-Content-Type-Options': 'nosniff',
    ...(lastModified === undefined ? undefined : { 'Last-Modified': new Date(lastModified).toUTCString() }),
    ...(disposition === undefined ? undefined : { 'Content-Disposition': disposition }),
  };
}

/** The instant in whole seconds, which is all that an HTTP date can say. */
function lastModifiedOf({ storedAt }: SentBlob): number | undefined {
  return storedAt === undefined ? undefined : Math.floor(Date.parse(storedAt) / 1000) * 1000;
}

/** A type that was recorded from elsewhere may hold what no header can; the bytes are then just bytes. */
function sendableType(contentType: string): string {
  try {
    validateHeaderValue('Content-Type', contentType);
    return contentType === '' ? 'application/octet-stream' : contentType;
  } catch {
    return 'application/octet-stream';
  }
}

function contentRange({ start, end }: ByteRange, bytes: number): string {
  return `bytes ${start}-${end}/${bytes}`;
}

function unsatisfiable(bytes: number): Problem {
  return new Problem('range_not_satisfiable', `The object has ${bytes} bytes; ask for a range within them.`, {
    headers: { 'Content-Range': `bytes */${bytes}` },
  });
}
