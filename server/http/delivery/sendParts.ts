import type { ServerResponse } from 'node:http';
import { type BlobFile, damaged, openBlobFile, readRanges } from './blobFile.ts';
import type { ByteRange } from './ranges.ts';

/** A stretch of an answer: what stands before it, and the bytes of the file from `start` to `end`, both inclusive. */
export interface Part extends ByteRange {
  before: string;
}

/** An answer whose body comes out of one file. */
export interface FileAnswer extends BlobFile {
  status: number;
  headers: Record<string, string>;
  /** None for HEAD. */
  parts: readonly Part[];
  /** What stands after the last part. */
  after: string;
}

/** Up to this much is read at once: for small answers three times as fast as a stream. */
const SYNC_BYTES = 262_144;
/** How much of a large file is read at a time. */
const CHUNK_BYTES = 524_288;
/** Of so many answers at once. The buffers of a reader that stalls are held as long as it is waited for, so more get small ones. */
const LARGE_AT_ONCE = 64;
const SMALL_CHUNK_BYTES = 65_536;
let underWay = 0;

/**
 * Sends an answer, its head only when the file is open and of the right size.
 *
 * @throws Problem `blob_damaged`: before anything is sent, or, where bytes were under way, for the caller to cut the
 * connection.
 */
export async function sendParts(response: ServerResponse, answer: FileAnswer): Promise<void> {
  const length = answer.parts.reduce((sum, part) => sum + sizeOf(part), 0);
  if (length <= SYNC_BYTES) sendAtOnce(response, answer);
  else await stream(response, answer);
}

export function sizeOf({ start, end }: ByteRange): number {
  return end - start + 1;
}

function sendAtOnce(response: ServerResponse, answer: FileAnswer): void {
  const pieces = readRanges(answer, answer.parts).flatMap((piece, index) => {
    const before = answer.parts[index]?.before;
    return before ? [Buffer.from(before, 'latin1'), piece] : [piece];
  });
  if (answer.after) pieces.push(Buffer.from(answer.after, 'latin1'));
  response.writeHead(answer.status, answer.headers);
  response.end(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces));
}

/**
 * Sends a large answer. While the socket takes one buffer the next is read into the other, so that no memory is asked
 * of the system for each chunk: that would cost more than reading it.
 */
async function stream(response: ServerResponse, answer: FileAnswer): Promise<void> {
  const handle = await openBlobFile(answer);
  const chunkBytes = underWay < LARGE_AT_ONCE ? CHUNK_BYTES : SMALL_CHUNK_BYTES;
  underWay += 1;
  try {
    response.writeHead(answer.status, answer.headers);
    let [buffer, other] = [Buffer.allocUnsafeSlow(chunkBytes), Buffer.allocUnsafeSlow(chunkBytes)];
    let taken = Promise.resolve();
    for (const { before, start, end } of answer.parts) {
      if (before) response.write(before, 'latin1');
      for (let position = start; position <= end; ) {
        const length = Math.min(chunkBytes, end - position + 1);
        const [{ bytesRead }] = await Promise.all([handle.read(buffer, 0, length, position), taken]);
        if (bytesRead === 0) throw damaged();
        taken = write(response, buffer.subarray(0, bytesRead));
        [buffer, other] = [other, buffer];
        position += bytesRead;
      }
    }
    await taken;
    response.end(answer.after, 'latin1');
  } catch (error) {
    // A reader that goes away in the middle is no fault of ours.
    if (!(error instanceof ReaderGoneError)) throw error;
  } finally {
    underWay -= 1;
    await handle.close();
  }
}

class ReaderGoneError extends Error {}

/** Resolves when the socket has taken the bytes and their buffer is free again; rejects when the reader is gone. */
function write(response: ServerResponse, bytes: Buffer): Promise<void> {
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
