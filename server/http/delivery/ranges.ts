import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import parseRange from 'range-parser';
import { Problem } from '../../../shared/problems.ts';
import type { PackFiles } from '../../archive/packs/file/writePackFile.ts';
import { guarded, type StillReadable } from '../../withholding/withholding.ts';
import { ChangedFileError } from '../../zip/writeZip.ts';
import { isPrematureClose } from './exports.ts';

/** The validators of a representation. */
export interface Validators {
  /** A strong entity tag, with its quotes. */
  etag: string;
  /** In milliseconds, rounded to whole seconds. */
  lastModified: number | undefined;
}

/**
 * Checks If-Match and If-Unmodified-Since (RFC 9110, section 13.1).
 *
 * @throws Problem `precondition_failed`
 */
export function requirePreconditions(request: IncomingMessage, { etag, lastModified }: Validators): void {
  const { 'if-match': ifMatch, 'if-unmodified-since': ifUnmodifiedSince } = request.headers;
  const since = dateOf(ifUnmodifiedSince);
  const holds =
    ifMatch !== undefined
      ? ifMatch.trim() === '*' || entityTags(ifMatch).includes(etag)
      : since === undefined || lastModified === undefined || lastModified <= since;
  if (!holds)
    throw new Problem(
      'precondition_failed',
      'The current version does not match If-Match or If-Unmodified-Since.',
    );
}

/** Returns whether the client's cached copy is current: If-None-Match, or If-Modified-Since if there is no tag. */
export function isFresh(request: IncomingMessage, { etag, lastModified }: Validators): boolean {
  const { 'if-none-match': ifNoneMatch, 'if-modified-since': ifModifiedSince } = request.headers;
  if (ifNoneMatch !== undefined) {
    return (
      ifNoneMatch.trim() === '*' || entityTags(ifNoneMatch).some((tag) => tag === etag || tag === `W/${etag}`)
    );
  }
  const since = dateOf(ifModifiedSince);
  return since !== undefined && lastModified !== undefined && lastModified <= since;
}

/** Returns whether a Range may be honored: there is no If-Range, or it matches exactly. */
export function ifRangeMatches(request: IncomingMessage, { etag, lastModified }: Validators): boolean {
  const ifRange = request.headers['if-range'];
  if (ifRange === undefined) return true;
  if (typeof ifRange !== 'string') return false;
  const text = ifRange.trim();
  if (text.startsWith('"') || text.startsWith('W/')) return text === etag;
  return lastModified !== undefined && dateOf(text) === lastModified;
}

function entityTags(header: string): string[] {
  return header.match(/(?:W\/)?"[^"]*"/g) ?? [];
}

function dateOf(header: string | undefined): number | undefined {
  const date = Date.parse(header ?? '');
  return Number.isNaN(date) ? undefined : date;
}

/*
 * The `send` package serves files by their path and answers a request for several ranges with the whole file. We
 * serve blobs only if they have the recorded size (`blobs.ts`), and several ranges as `multipart/byteranges`.
 */

/** Bytes from `start` to `end`, both inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A request for more ranges than this gets all bytes instead. */
const MAX_RANGES = 100;

/**
 * Returns the ranges of a GET, or `undefined` if all bytes are to be sent: there is no Range, its unit is not bytes, it
 * is malformed, or it has too many ranges (RFC 9110, section 14.2, allows a server to ignore it).
 */
export function rangesOf(request: IncomingMessage, bytes: number): ByteRange[] | 'unsatisfiable' | undefined {
  const header = request.method === 'GET' ? request.headers.range : undefined;
  if (header === undefined || !/^bytes=/i.test(header)) return undefined;
  if (header.split(',').length > MAX_RANGES) return undefined;
  const ranges = parseRange(bytes, clampSuffixes(header, bytes));
  if (ranges === -2) return undefined;
  if (ranges === -1) return 'unsatisfiable';
  // Overlapping ranges are merged if they would otherwise send bytes repeatedly.
  const total = ranges.reduce((sum, { start, end }) => sum + end - start + 1, 0);
  const wanted = total > bytes ? merged(ranges) : [...ranges];
  return wanted.length > 0 ? wanted : 'unsatisfiable';
}

/** Shortens suffix lengths to the object's size. RFC 9110, section 14.1.2, allows longer ones, but the parser does not. */
function clampSuffixes(header: string, bytes: number): string {
  return header.replace(/([=,]\s*-)(\d+)/g, (_whole, before: string, digits: string) => {
    return `${before}${Math.min(Number(digits), bytes)}`;
  });
}

function merged(ranges: readonly ByteRange[]): ByteRange[] {
  const joined: ByteRange[] = [];
  for (const range of ranges.toSorted((left, right) => left.start - right.start)) {
    const last = joined.at(-1);
    if (last && range.start <= last.end + 1) last.end = Math.max(last.end, range.end);
    else joined.push({ ...range });
  }
  return joined;
}

/** A part of a response: a text before it, and the bytes of the file from `start` to `end`, both inclusive. */
export interface Part extends ByteRange {
  before: string;
}

export function sizeOf({ start, end }: ByteRange): number {
  return end - start + 1;
}

/** The body of a response with all bytes or some ranges, and the headers that describe it. */
interface RangeBody {
  status: 200 | 206;
  parts: Part[];
  after: string;
  headers: Record<string, string>;
}

/** What is sent. */
interface Representation {
  bytes: number;
  type: string;
  /** The digest of all bytes, in hex. The bytes cannot contain it, so it is a safe boundary. */
  sha256: string;
}

/** Returns the body for these ranges, or for all bytes if there are none. */
export function rangeBody(
  { bytes, type, sha256 }: Representation,
  ranges: ByteRange[] | undefined,
): RangeBody {
  const [first, ...others] = ranges ?? [];
  if (first === undefined) {
    const whole = { before: '', start: 0, end: bytes - 1 };
    return { status: 200, parts: [whole], after: '', headers: { 'Content-Type': type } };
  }
  if (others.length === 0) {
    const headers = { 'Content-Type': type, 'Content-Range': contentRange(first, bytes) };
    return { status: 206, parts: [{ before: '', ...first }], after: '', headers };
  }
  const boundary = sha256;
  const parts = [first, ...others].map((range, index) => ({
    ...range,
    before: `${index ? '\r\n' : ''}--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: ${contentRange(range, bytes)}\r\n\r\n`,
  }));
  const headers = { 'Content-Type': `multipart/byteranges; boundary=${boundary}` };
  return { status: 206, parts, after: `\r\n--${boundary}--\r\n`, headers };
}

function contentRange({ start, end }: ByteRange, bytes: number): string {
  return `bytes ${start}-${end}/${bytes}`;
}

/** Returns the problem for ranges of which none is within the bytes. */
export function unsatisfiable(bytes: number): Problem {
  return new Problem('range_not_satisfiable', `The object has ${bytes} bytes. Request a range within them.`, {
    headers: { 'Content-Range': `bytes */${bytes}` },
  });
}

/** Bytes that are made or joined while they are sent, such as a ZIP. Their number is known. */
interface SentBytes {
  /** A strong entity tag, with its quotes. */
  etag: string;
  type: string;
  bytes: number;
  headers: Record<string, string>;
  /** Checks what is needed for these ranges, before anything is sent. */
  prepare: (ranges: readonly ByteRange[]) => Promise<void>;
  read: (range: ByteRange) => AsyncIterable<Uint8Array>;
  stillReadable: StillReadable;
}

/**
 * Sends all bytes, one or more ranges (RFC 9110, section 14), or 304.
 *
 * @throws Problem `precondition_failed`, `range_not_satisfiable`; the errors of `prepare`; `blob_damaged` before anything
 * is sent. Damage found later closes the connection.
 */
export async function sendRanges(request: Request, response: Response, sent: SentBytes): Promise<void> {
  const validators = { etag: sent.etag, lastModified: undefined };
  requirePreconditions(request, validators);
  const headers = { ETag: sent.etag, 'Accept-Ranges': 'bytes', ...sent.headers };
  if (isFresh(request, validators)) return void response.status(304).set(headers).end();
  const ranges = ifRangeMatches(request, validators) ? rangesOf(request, sent.bytes) : undefined;
  if (ranges === 'unsatisfiable') throw unsatisfiable(sent.bytes);
  const boundary = sent.etag.replaceAll(/[^\w-]/g, '').slice(0, 70);
  const body = rangeBody({ bytes: sent.bytes, type: sent.type, sha256: boundary }, ranges);
  const length = body.parts.reduce((sum, part) => sum + part.before.length + sizeOf(part), body.after.length);
  const all = { ...headers, ...body.headers, 'Content-Length': String(length) };
  if (request.method === 'HEAD') return void response.status(body.status).set(all).end();
  await sent.prepare(body.parts);
  await sendBody(response, { body, headers: all, read: sent.read, stillReadable: sent.stillReadable });
}

async function* chunksOf({
  body: { parts, after },
  read,
  stillReadable,
}: Answer): AsyncGenerator<Uint8Array, void> {
  for (const { before, ...range } of parts) {
    if (before) yield Buffer.from(before, 'latin1');
    yield* guarded(read(range), stillReadable);
  }
  if (after) yield Buffer.from(after, 'latin1');
}

interface Answer {
  body: RangeBody;
  headers: Record<string, string>;
  read: SentBytes['read'];
  stillReadable: StillReadable;
}

/** Sends a body whose bytes are read while they are sent. @throws Problem `blob_damaged` before anything is sent */
async function sendBody(response: Response, answer: Answer): Promise<void> {
  const { body, headers } = answer;
  const chunks = chunksOf(answer);
  // An error before the first chunk becomes a problem response.
  const first = await chunks.next().catch((error: unknown) => {
    if (!(error instanceof ChangedFileError)) throw error;
    throw new Problem('blob_damaged', 'A file of this pack is damaged. Verify the pack for details.', {
      cause: error,
    });
  });
  response.status(body.status).set(headers);
  const all = async function* () {
    if (first.value) yield first.value;
    yield* chunks;
  };
  try {
    await pipeline(Readable.from(all(), { objectMode: false }), response);
  } catch (error) {
    if (!isPrematureClose(error)) throw error;
  } finally {
    await chunks.return(undefined);
  }
}

/** Increased by each release that writes different bytes for the same record (decision 7). */
const FORMAT_VERSION = 2;
const TYPE = 'application/zip';

/**
 * Sends a pack file, or ranges of it, while it is written. The bytes are determined by the record, and so is the entity
 * tag. Every file with bytes in the response is checked before the first byte is sent. HEAD and the bytes between the
 * files read no file once the CRCs are known: they depend on the record only.
 *
 * @throws Problem `precondition_failed`, `range_not_satisfiable`; `blob_damaged` before anything is sent. Damage found
 * later closes the connection.
 */
export async function sendPackFile(
  request: Request,
  response: Response,
  {
    pack: { id, digest },
    headers: further,
    stillReadable,
  }: {
    pack: { id: string; digest: string };
    headers: Readonly<Record<string, string>>;
    stillReadable: StillReadable;
  },
  packFiles: PackFiles,
): Promise<void> {
  const validators: Validators = { etag: `"pack-${FORMAT_VERSION}-${digest}"`, lastModified: undefined };
  requirePreconditions(request, validators);
  const caching = {
    ETag: validators.etag,
    'Cache-Control': 'no-cache',
    'Accept-Ranges': 'bytes',
    ...further,
  };
  if (isFresh(request, validators)) return void response.status(304).set(caching).end();
  const output = packFiles.of(id, digest);
  const ranges = ifRangeMatches(request, validators) ? rangesOf(request, output.bytes) : undefined;
  if (ranges === 'unsatisfiable') throw unsatisfiable(output.bytes);
  const summary = await packFiles.summaryOf(output);
  const body = rangeBody({ bytes: output.bytes, type: TYPE, sha256: summary.sha256 }, ranges);
  const length = body.parts.reduce((sum, part) => sum + part.before.length + sizeOf(part), body.after.length);
  const headers = {
    ...caching,
    ...body.headers,
    'Content-Length': String(length),
    'Repr-Digest': `sha-256=:${Buffer.from(summary.sha256, 'hex').toString('base64')}:`,
    'Content-Disposition': `attachment; filename="${id}.pack.zip"`,
  };
  if (request.method === 'HEAD') return void response.set(headers).end();
  const zip = packFiles.zipOf(output, summary);
  await zip.check(body.parts);
  await sendBody(response, { body, headers, read: (range) => zip.read(range), stillReadable });
}
