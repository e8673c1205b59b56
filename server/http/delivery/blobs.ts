import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Problem } from '../../../shared/problems.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../../fixity/audit.ts';
import { requireIntact } from '../../fixity/damages.ts';
import { validateHeaderValue } from '../../runtime/nodeHttp.ts';
import {
  OWNER,
  type Reader,
  reasonAmong,
  requireReadable,
  type StillReadable,
  whileReadable,
} from '../../withholding/withholding.ts';
import type { WrittenReply } from '../reply.ts';
import {
  type ByteRange,
  ifRangeMatches,
  isFresh,
  type Part,
  rangeBody,
  rangesOf,
  requirePreconditions,
  sizeOf,
  unsatisfiable,
  type Validators,
} from './ranges.ts';

/**
 * Replies with a stored blob. Pack files, ZIPs and ranges of sets are sent from `ranges.ts`.
 *
 * @throws Problem `withheld`, `released`, before any condition of the request counts: a cached copy is not confirmed
 * either; `blob_damaged`. The reply throws like `sendStoredBlob`.
 */
export async function storedBlobReply(
  store: DamageContext,
  request: IncomingMessage,
  { blob, options }: BlobResponse,
  reader: Reader,
): Promise<WrittenReply> {
  const require = () => requireReadable(store.read, blob.sha256, reader);
  // Bytes that are recorded as damaged are hashed first, which may take long. They may be withheld meanwhile.
  await requireIntact(store, blob).finally(require);
  const headers = { ...options.headers, ...withheldHeaders(store.read, [blob.sha256], reader) };
  const ready: PreparedBlob = prepareBlob({ blob, options: { ...options, headers } });
  if (blob.bytes > SMALL_CHUNK_BYTES) ready.stillReadable = whileReadable(store.read, require);
  return { write: (response) => sendStoredBlob(store, { request, response, ready, require }) };
}

/** A stored blob that is sent as the answer to a request. */
interface StoredAnswer {
  request: IncomingMessage;
  response: ServerResponse;
  ready: PreparedBlob;
  /** Requires that the reader may read the bytes. */
  require: () => void;
}

/**
 * Returns the headers of an answer to the owner that gives out bytes which visitors may not read, or what was made of
 * them: no cache may keep it for others. Without such bytes there are none.
 */
export function withheldHeaders(
  read: DamageContext['read'],
  digests: readonly string[],
  { owner }: Reader,
): Record<string, string> {
  const reason = owner ? reasonAmong(read, digests) : undefined;
  return reason === undefined ? {} : { 'Cache-Control': 'private, no-store', 'Strongroom-Withheld': reason };
}

/**
 * Like `sendBlob`, but records damage that is found before the error is reported. A blob that is offloaded is read
 * from a copy.
 *
 * @throws Problem like `sendBlob`; `blob_damaged` also if the bytes cannot be read; `withheld`, `released` if they were
 * meanwhile; `copy_unreachable`.
 */
async function sendStoredBlob(store: DamageContext, answer: StoredAnswer): Promise<void> {
  const { request, response, ready } = answer;
  try {
    await sendBlob(request, response, ready).catch((error: unknown) => {
      // Asked only now, so that reading a file that is here costs nothing more.
      const isOffloaded = store.blobs.offloaded.bytesOf(ready.blob.sha256) !== undefined;
      if (!isOffloaded || !isBlobDamageError(error) || response.headersSent) throw error;
      return sendOffloaded(store, answer);
    });
  } catch (error) {
    if (!isBlobDamageError(error)) throw error;
    // Do not let the reader of a partial response wait until the damage is recorded.
    if (response.headersSent) response.destroy();
    await confirmDamage(store, [ready.blob.sha256]);
    // The bytes may have been given up since this request was let through.
    requireReadable(store.read, ready.blob.sha256, OWNER);
    throw error instanceof Problem ? error : blobDamaged(error);
  }
}

/** Up to this size, a blob is fetched whole before its first byte is sent, so that the next reader finds it here. */
const FETCHED_UP_TO_BYTES = 4_194_304;

async function sendOffloaded(
  { blobs: { offloaded } }: Pick<DamageContext, 'blobs'>,
  { request, response, ready, require }: StoredAnswer,
): Promise<void> {
  const { blob } = ready;
  const isFetched =
    request.method !== 'HEAD' && (blob.bytes <= FETCHED_UP_TO_BYTES || offloaded.isCached(blob.sha256));
  if (!isFetched) return sendBlob(request, response, ready, (range) => offloaded.stream(blob.sha256, range));
  const { file, release } = await offloaded.borrow(blob.sha256);
  try {
    // The copy may have taken long to answer, and a few bytes are sent at once, without another look.
    require();
    await sendBlob(request, response, { ...ready, blob: { ...blob, file } });
  } finally {
    release();
  }
}

/**
 * Sends a blob: all bytes, one or more ranges (RFC 9110, section 14), or 304. The bytes never change, so the entity tag
 * is their digest and caches may keep them forever. Works without Express.
 *
 * @param read reads the bytes if the blob is offloaded
 * @throws Problem `range_not_satisfiable`, `precondition_failed`; `blob_damaged` if the file is missing or has the wrong
 * size. Usually nothing has been sent then; otherwise the caller must close the connection.
 */
export async function sendBlob(
  request: IncomingMessage,
  response: ServerResponse,
  ready: PreparedBlob,
  read?: ReadRemotely,
): Promise<void> {
  const { blob, type, validators, headers, stillReadable } = ready;
  requirePreconditions(request, validators);
  if (isFresh(request, validators)) return void response.writeHead(304, headers).end();
  const ranges = ifRangeMatches(request, validators) ? rangesOf(request, blob.bytes) : undefined;
  if (ranges === 'unsatisfiable') throw unsatisfiable(blob.bytes);
  const { status, parts, after, headers: more } = rangeBody({ ...blob, type }, ranges);
  const length = parts.reduce((sum, part) => sum + part.before.length + sizeOf(part), after.length);
  const isHead = request.method === 'HEAD';
  await sendParts(response, {
    status,
    headers: { ...headers, ...more, 'Content-Length': String(length) },
    file: blob.file,
    bytes: blob.bytes,
    parts: isHead ? [] : parts,
    after: isHead ? '' : after,
    read,
    stillReadable,
  });
}

/** A stored blob to send: its file, its size and its digest. */
export interface SentBlob extends BlobFile {
  sha256: string;
  /** When the bytes were stored (RFC 3339), sent as Last-Modified. */
  storedAt?: string;
}

export interface SentBlobOptions {
  contentType: string;
  /** The value of Content-Disposition. */
  disposition?: string;
  /** Additional headers. They replace headers of the same name. */
  headers?: Record<string, string>;
}

/** A stored blob, and how to send it. */
export interface BlobResponse {
  blob: SentBlob;
  options: SentBlobOptions;
}

/** A blob whose response headers are prepared, to be reused for many responses. */
interface PreparedBlob {
  blob: SentBlob;
  validators: Validators;
  /** The media type of the bytes, valid as a header value. */
  type: string;
  /** The headers of every response, for all bytes or a part of them. */
  headers: Record<string, string>;
  /** Asked between two chunks. */
  stillReadable?: StillReadable;
}

export function prepareBlob({ blob, options }: BlobResponse): PreparedBlob {
  const { sha256 } = blob;
  const validators: Validators = { etag: `"${sha256}"`, lastModified: lastModifiedOf(blob) };
  const type = sendableType(options.contentType);
  const headers = { ...commonHeaders(sha256, validators, options.disposition), ...options.headers };
  return { blob, validators, type, headers };
}

function commonHeaders(
  sha256: string,
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

/** The instant rounded down to whole seconds, because HTTP dates have no fraction. */
function lastModifiedOf({ storedAt }: SentBlob): number | undefined {
  return storedAt === undefined ? undefined : Math.floor(Date.parse(storedAt) / 1000) * 1000;
}

/** Replaces a recorded type that is not valid in a header with `application/octet-stream`. */
function sendableType(contentType: string): string {
  try {
    validateHeaderValue('Content-Type', contentType);
    return contentType === '' ? 'application/octet-stream' : contentType;
  } catch {
    return 'application/octet-stream';
  }
}

/** A file, and the size that it must have. */
interface BlobFile {
  file: string;
  bytes: number;
}

/**
 * Opens a file of a stored blob. It is only read if it has the size recorded in the database.
 *
 * @throws Problem `blob_damaged`
 */
async function openBlobFile({ file, bytes }: BlobFile): Promise<FileHandle> {
  const handle = await open(file, 'r').catch((error: unknown) => {
    throw damagedIfMissing(error);
  });
  try {
    if ((await handle.stat()).size !== bytes) throw blobDamaged();
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Returns the problem for bytes that are lost or incomplete. */
function blobDamaged(cause?: unknown): Problem {
  return new Problem(
    'blob_damaged',
    'The archive has lost these bytes or part of them. Ask its owner to audit the storage.',
    { cause },
  );
}

function damagedIfMissing(error: unknown): unknown {
  return errorCode(error) === 'ENOENT' ? blobDamaged(error) : error;
}

/** A response whose body is read from one file. */
interface FileBody extends BlobFile {
  status: number;
  headers: Record<string, string>;
  /** Empty for HEAD. */
  parts: readonly Part[];
  /** The text after the last part. */
  after: string;
  /** Reads the bytes if the file is offloaded. */
  read?: ReadRemotely | undefined;
  stillReadable?: StillReadable | undefined;
}

/** Reads bytes that are not in a file here, each verified. @throws Problem `copy_unreachable`, `blob_damaged` */
type ReadRemotely = (range: ByteRange) => AsyncIterable<Uint8Array>;

/** The size of a chunk. */
const CHUNK_BYTES = 524_288;
/** With more responses than this at once, chunks are small, because stalled readers occupy their buffers. */
const MAX_LARGE_CHUNK_STREAMS = 64;
const SMALL_CHUNK_BYTES = 65_536;
let activeStreams = 0;

/**
 * Sends a response. The head is sent after the file was opened and its size checked.
 *
 * @throws Problem `blob_damaged`, before anything is sent or in the middle. Then the caller must close the connection.
 */
async function sendParts(response: ServerResponse, body: FileBody): Promise<void> {
  if (body.read) return streamRemotely(response, body, body.read);
  const bytes = body.parts.reduce((sum, part) => sum + sizeOf(part), 0);
  if (bytes <= SMALL_CHUNK_BYTES) sendAtOnce(response, body, bytes);
  else await stream(response, body);
}

/**
 * Sends a few bytes, which are read synchronously: four calls that the cache of the disk answers take a tenth of the time
 * of four promises.
 */
function sendAtOnce(response: ServerResponse, { file, bytes, parts, ...body }: FileBody, size: number): void {
  const chunks: Buffer[] = [];
  const read = Buffer.allocUnsafe(size);
  let filled = 0;
  const descriptor = openBlobFileSync(file);
  try {
    if (fstatSync(descriptor).size !== bytes) throw blobDamaged();
    for (const part of parts) {
      const chunk = read.subarray(filled, (filled += sizeOf(part)));
      if (readSync(descriptor, chunk, 0, chunk.length, part.start) < chunk.length) throw blobDamaged();
      chunks.push(Buffer.from(part.before, 'latin1'), chunk);
    }
  } finally {
    closeSync(descriptor);
  }
  response.writeHead(body.status, body.headers);
  response.end(Buffer.concat([...chunks, Buffer.from(body.after, 'latin1')]));
}

function openBlobFileSync(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (error) {
    throw damagedIfMissing(error);
  }
}

/**
 * Sends a body with two buffers: one is read into while the other is written to the socket. Allocating memory for
 * each chunk would cost more than reading it.
 */
async function stream(response: ServerResponse, body: FileBody): Promise<void> {
  const handle = await openBlobFile(body);
  const most = activeStreams < MAX_LARGE_CHUNK_STREAMS ? CHUNK_BYTES : SMALL_CHUNK_BYTES;
  const chunkBytes = Math.min(most, Math.max(0, ...body.parts.map(sizeOf)));
  activeStreams += 1;
  try {
    response.writeHead(body.status, body.headers);
    let [buffer, other] = [Buffer.allocUnsafeSlow(chunkBytes), Buffer.allocUnsafeSlow(chunkBytes)];
    let written = Promise.resolve();
    for (const { before, start, end } of body.parts) {
      if (before) response.write(before, 'latin1');
      for (let position = start; position <= end; ) {
        const length = Math.min(chunkBytes, end - position + 1);
        const [{ bytesRead }] = await Promise.all([handle.read(buffer, 0, length, position), written]);
        if (bytesRead === 0) throw blobDamaged();
        await body.stillReadable?.();
        written = write(response, buffer.subarray(0, bytesRead));
        [buffer, other] = [other, buffer];
        position += bytesRead;
      }
    }
    await written;
    response.end(body.after, 'latin1');
  } catch (error) {
    if (!(error instanceof ReaderDisconnectedError)) throw error;
  } finally {
    activeStreams -= 1;
    await handle.close();
  }
}

/** Sends bytes that are read from elsewhere. The head is sent with the first of them, so that a failure has a response. */
async function streamRemotely(response: ServerResponse, body: FileBody, read: ReadRemotely): Promise<void> {
  const chunks = chunksOf(body, read);
  try {
    for await (const chunk of chunks) {
      await body.stillReadable?.();
      if (!response.headersSent) response.writeHead(body.status, body.headers);
      await write(response, chunk);
    }
    if (!response.headersSent) response.writeHead(body.status, body.headers);
    response.end();
  } catch (error) {
    if (!(error instanceof ReaderDisconnectedError)) throw error;
  }
}

async function* chunksOf({ parts, after }: FileBody, read: ReadRemotely): AsyncGenerator<Uint8Array> {
  for (const { before, ...range } of parts) {
    const chunks = read(range)[Symbol.asyncIterator]();
    const first = await chunks.next();
    if (before) yield Buffer.from(before, 'latin1');
    if (!first.done) yield first.value;
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  if (after) yield Buffer.from(after, 'latin1');
}

class ReaderDisconnectedError extends Error {}

/** Resolves when the bytes are written and their buffer can be reused. Rejects when the reader disconnects. */
function write(response: ServerResponse, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const onClose = () => reject(new ReaderDisconnectedError());
    if (response.closed) return onClose();
    response.once('close', onClose);
    response.write(bytes, (error) => {
      response.off('close', onClose);
      if (error) onClose();
      else resolve();
    });
  });
}
