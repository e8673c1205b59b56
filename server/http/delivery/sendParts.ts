import type { ServerResponse } from 'node:http';
import { type BlobFile, blobDamaged, openBlobFile, readRanges } from './blobs/blobFile.ts';
import type { ByteRange } from './ranges.ts';

/** A part of a response: a text before it, and the bytes of the file from `start` to `end`, both inclusive. */
export interface Part extends ByteRange {
  before: string;
}

/** A response whose body is read from one file. */
export interface FileBody extends BlobFile {
  status: number;
  headers: Record<string, string>;
  /** Empty for HEAD. */
  parts: readonly Part[];
  /** The text after the last part. */
  after: string;
  /** Reads the bytes if the file has left this disk. */
  read?: ReadElsewhere | undefined;
}

/** Reads bytes that are not in a file here, each verified. @throws Problem `copy_unreachable`, `blob_damaged` */
export type ReadElsewhere = (range: ByteRange) => AsyncIterable<Uint8Array>;

/** Bodies up to this size are read in one go, which is three times as fast as a stream. */
const SYNC_BYTES = 262_144;
/** The chunk size for larger bodies. */
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
export async function sendParts(response: ServerResponse, body: FileBody): Promise<void> {
  if (body.read) return streamElsewhere(response, body, body.read);
  const length = body.parts.reduce((sum, part) => sum + sizeOf(part), 0);
  if (length <= SYNC_BYTES) sendBuffered(response, body);
  else await stream(response, body);
}

export function sizeOf({ start, end }: ByteRange): number {
  return end - start + 1;
}

function sendBuffered(response: ServerResponse, body: FileBody): void {
  const pieces = readRanges(body, body.parts).flatMap((piece, index) => {
    const before = body.parts[index]?.before;
    return before ? [Buffer.from(before, 'latin1'), piece] : [piece];
  });
  if (body.after) pieces.push(Buffer.from(body.after, 'latin1'));
  response.writeHead(body.status, body.headers);
  response.end(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces));
}

/**
 * Sends a large body with two buffers: one is read into while the other is written to the socket. Allocating memory for
 * each chunk would cost more than reading it.
 */
async function stream(response: ServerResponse, body: FileBody): Promise<void> {
  const handle = await openBlobFile(body);
  const chunkBytes = activeStreams < MAX_LARGE_CHUNK_STREAMS ? CHUNK_BYTES : SMALL_CHUNK_BYTES;
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
async function streamElsewhere(response: ServerResponse, body: FileBody, read: ReadElsewhere): Promise<void> {
  const chunks = chunksOf(body, read);
  try {
    for await (const chunk of chunks) {
      if (!response.headersSent) response.writeHead(body.status, body.headers);
      await write(response, chunk);
    }
    if (!response.headersSent) response.writeHead(body.status, body.headers);
    response.end();
  } catch (error) {
    if (!(error instanceof ReaderDisconnectedError)) throw error;
  }
}

async function* chunksOf({ parts, after }: FileBody, read: ReadElsewhere): AsyncGenerator<Uint8Array> {
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
