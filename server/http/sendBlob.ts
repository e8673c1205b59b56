import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { validateHeaderValue } from 'node:http';
import type { Request, Response } from 'express';
import { Problem } from '../../shared/problems.ts';
import { isFresh, rangeHolds, requirePreconditions, type Validators } from './conditions.ts';
import { type ByteRange, rangesOf } from './ranges.ts';

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

/** Up to this much is read at once: for small answers three times as fast as a stream. */
const SYNC_BYTES = 262_144;
/** How much of a large blob is read at a time. */
const CHUNK_BYTES = 524_288;

/** A stretch of the answer: what stands before it, and the bytes of the blob from `start` to `end`, both inclusive. */
interface Part extends ByteRange {
  before: string;
}

/**
 * Answers with stored bytes: whole, one range or many (RFC 9110, section 14), or 304. The bytes never change, so the
 * entity tag is their digest and any cache may keep them for ever.
 *
 * @throws Problem `range_not_satisfiable`, `precondition_failed`; `blob_damaged` where the file is missing or has not
 * the size that its row says. A failure while bytes are under way cuts the connection.
 */
export async function sendBlob(
  request: Request,
  response: Response,
  blob: SentBlob,
  { contentType, disposition, headers = {} }: SentBlobOptions,
): Promise<void> {
  const validators: Validators = { etag: `"${blob.sha256}"`, lastModified: lastModifiedOf(blob) };
  requirePreconditions(request, validators);
  const common = commonHeaders(blob, validators, disposition);
  if (isFresh(request, validators)) {
    return void response
      .status(304)
      .set({ ...common, ...headers })
      .end();
  }
  const ranges = rangeHolds(request, validators) ? rangesOf(request, blob.bytes) : undefined;
  if (ranges === 'unsatisfiable') throw unsatisfiable(blob.bytes);
  const type = sendableType(contentType);
  const [first, ...others] = ranges ?? [];
  let parts: Part[];
  let after = '';
  response.set(common);
  if (first === undefined) {
    parts = [{ before: '', start: 0, end: blob.bytes - 1 }];
    setExactly(response, { 'Content-Type': type, ...headers });
  } else if (others.length === 0) {
    parts = [{ before: '', ...first }];
    response.status(206);
    setExactly(response, {
      'Content-Type': type,
      'Content-Range': contentRange(first, blob.bytes),
      ...headers,
    });
  } else {
    // The digest of the bytes cannot occur in them, so it can part them.
    const boundary = blob.sha256;
    parts = [first, ...others].map((range, index) => ({
      ...range,
      before: `${index ? '\r\n' : ''}--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: ${contentRange(range, blob.bytes)}\r\n\r\n`,
    }));
    after = `\r\n--${boundary}--\r\n`;
    response.status(206);
    setExactly(response, { ...headers, 'Content-Type': `multipart/byteranges; boundary=${boundary}` });
  }
  const length = parts.reduce((sum, part) => sum + part.before.length + sizeOf(part), after.length);
  response.set('Content-Length', String(length));
  if (length <= SYNC_BYTES || request.method === 'HEAD') sendAtOnce(request, response, blob, parts, after);
  else await stream(response, blob, parts, after);
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
    ...(lastModified === undefined ? {} : { 'Last-Modified': new Date(lastModified).toUTCString() }),
    ...(disposition === undefined ? {} : { 'Content-Disposition': disposition }),
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

/** Express would add a charset to a text type; these are sent as they are. */
function setExactly(response: Response, headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

function contentRange({ start, end }: ByteRange, bytes: number): string {
  return `bytes ${start}-${end}/${bytes}`;
}

function sizeOf({ start, end }: ByteRange): number {
  return end - start + 1;
}

function unsatisfiable(bytes: number): Problem {
  return new Problem('range_not_satisfiable', `The object has ${bytes} bytes; ask for a range within them.`, {
    headers: { 'Content-Range': `bytes */${bytes}` },
  });
}

/** One synchronous read of little is quicker than handing it to a thread; HEAD reads nothing but looks. */
function sendAtOnce(
  request: Request,
  response: Response,
  blob: SentBlob,
  parts: readonly Part[],
  after: string,
): void {
  const pieces: Buffer[] = [];
  const descriptor = openAtOnce(blob.file);
  try {
    requireSize(fstatSync(descriptor).size, blob);
    for (const part of request.method === 'HEAD' ? [] : parts) {
      const piece = Buffer.allocUnsafe(sizeOf(part));
      readExactly(descriptor, piece, part.start);
      if (part.before) pieces.push(Buffer.from(part.before, 'latin1'));
      pieces.push(piece);
    }
  } finally {
    closeSync(descriptor);
  }
  if (after) pieces.push(Buffer.from(after, 'latin1'));
  response.end(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces));
}

function openAtOnce(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (error) {
    throw isMissing(error) ? damaged(error) : error;
  }
}

function readExactly(descriptor: number, piece: Buffer, position: number): void {
  for (let done = 0; done < piece.length; ) {
    const read = readSync(descriptor, piece, done, piece.length - done, position + done);
    if (read === 0) throw damaged();
    done += read;
  }
}

/**
 * Sends a large answer. While the socket takes one buffer the next is read into the other, so that no memory is asked
 * of the system for each chunk: that would cost more than reading it.
 */
async function stream(
  response: Response,
  blob: SentBlob,
  parts: readonly Part[],
  after: string,
): Promise<void> {
  const handle = await open(blob.file, 'r').catch((error: unknown) => {
    throw isMissing(error) ? damaged(error) : error;
  });
  try {
    requireSize((await handle.stat()).size, blob);
    let [buffer, other] = [Buffer.allocUnsafeSlow(CHUNK_BYTES), Buffer.allocUnsafeSlow(CHUNK_BYTES)];
    let taken = Promise.resolve();
    for (const { before, start, end } of parts) {
      if (before) response.write(before, 'latin1');
      for (let position = start; position <= end; ) {
        const length = Math.min(CHUNK_BYTES, end - position + 1);
        const [{ bytesRead }] = await Promise.all([handle.read(buffer, 0, length, position), taken]);
        if (bytesRead === 0) throw damaged();
        taken = write(response, buffer.subarray(0, bytesRead));
        [buffer, other] = [other, buffer];
        position += bytesRead;
      }
    }
    await taken;
    response.end(after, 'latin1');
  } catch (error) {
    // A reader that goes away in the middle is no fault of ours.
    if (!(error instanceof ReaderGoneError)) throw error;
  } finally {
    await handle.close();
  }
}

class ReaderGoneError extends Error {}

/** Resolves when the socket has taken the bytes and their buffer is free again; rejects when the reader is gone. */
function write(response: Response, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new ReaderGoneError());
    if (response.closed) return gone();
    response.once('close', gone);
    response.write(bytes, (error) => {
      response.off('close', gone);
      if (error) gone();
      else resolve();
    });
  });
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function requireSize(size: number, { bytes }: SentBlob): void {
  if (size !== bytes) throw damaged();
}

function damaged(cause?: unknown): Problem {
  return new Problem(
    'blob_damaged',
    'The archive has lost these bytes or part of them. Ask its owner to audit the storage.',
    { cause },
  );
}
