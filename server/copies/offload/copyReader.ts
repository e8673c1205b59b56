import { createHash, hash } from 'node:crypto';
import { Problem } from '../../../shared/problems.ts';
import type { Bounds, RemoteBlobs } from '../../store/blobs/blobStore.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { allCopies, copyById } from '../../store/sqlite/node/copies.ts';
import {
  copiesHolding,
  type OffloadedRow,
  offloadedObject,
} from '../../store/sqlite/node/offloadedObjects.ts';
import { objectPath } from '../copyPaths.ts';
import { type AroundPlace, openCopy } from '../targets/openTarget.ts';
import { CopyError, type CopyTarget } from '../targets/target.ts';

/** The bytes in a copy are missing or others than were sent. */
class DamagedCopyError extends Error {}

interface CopyReaderOptions {
  around?: AroundPlace | undefined;
  /** Called with each copy that could not be read, and why. */
  onError?: ((copy: string, sentence: string) => Promise<void>) | undefined;
}

/**
 * Reads offloaded objects from the copies that hold them. Each mebibyte is hashed and compared with what
 * was recorded when the object left, before any of it is given to a reader. If one copy fails, the next one continues.
 */
export class CopyReader implements RemoteBlobs {
  readonly #archive: { read: ReadDatabase; folder: string };
  readonly #options: CopyReaderOptions;
  readonly #opened = new Map<string, OpenedCopy>();

  constructor(archive: { read: ReadDatabase; folder: string }, options: CopyReaderOptions = {}) {
    this.#archive = archive;
    this.#options = options;
  }

  async *read(sha256: string, { start, end }: Bounds): AsyncGenerator<Buffer> {
    const { read } = this.#archive;
    const row = offloadedObject(read, sha256);
    const holding = copiesHolding(read, sha256);
    let position = start;
    let unreachable: CopyError | undefined;
    // After a copy was set back to an earlier state, its next sync finds out what it holds.
    for (const copy of holding.length > 0 ? holding : allCopies(read).map(({ id }) => id)) {
      if (!row) break;
      const opened = this.#borrow(copy);
      try {
        const target = await opened.target;
        for await (const bytes of verified(target, row, { start: position, end })) {
          position += bytes.length;
          yield bytes;
        }
        return;
      } catch (error) {
        if (error instanceof DamagedCopyError) continue;
        // A disk may be connected again, and a bucket get another key.
        this.#forget(copy, opened);
        if (!(error instanceof CopyError)) throw error;
        unreachable = error;
        await this.#options.onError?.(copy, error.message);
      } finally {
        this.#release(opened);
      }
    }
    if (unreachable)
      throw new Problem(
        'copy_unreachable',
        `This object is offloaded, and the copy that holds it cannot be read. ${unreachable.message}`,
        { cause: unreachable },
      );
    throw new Problem(
      'blob_damaged',
      'This object is offloaded, and every copy of it is damaged or missing. Restore an intact copy.',
    );
  }

  /** Opens a copy to be read, once for each address that it has. The caller releases it. */
  #borrow(copy: string): OpenedCopy {
    const { read, folder } = this.#archive;
    const row = copyById(read, copy);
    const address = JSON.stringify([row?.target, row?.endpoint, row?.region]);
    let opened = this.#opened.get(copy);
    if (opened && opened.address !== address) this.#forget(copy, opened);
    opened = this.#opened.get(copy);
    if (!opened) {
      const target = row
        ? openCopy({ folder, around: this.#options.around }, row)
        : Promise.reject(new CopyError('The copy was removed.'));
      opened = { address, target, readers: 0, isForgotten: false };
      this.#opened.set(copy, opened);
    }
    opened.readers += 1;
    return opened;
  }

  #release(opened: OpenedCopy): void {
    opened.readers -= 1;
    closeUnused(opened);
  }

  /** Opens a copy again for the next reader. */
  #forget(copy: string, opened: OpenedCopy): void {
    if (this.#opened.get(copy) === opened) this.#opened.delete(copy);
    opened.isForgotten = true;
    closeUnused(opened);
  }

  close(): void {
    for (const [copy, opened] of this.#opened) {
      opened.readers = 0;
      this.#forget(copy, opened);
    }
  }
}

/** A copy that is being read. */
interface OpenedCopy {
  address: string;
  target: Promise<CopyTarget>;
  readers: number;
  isForgotten: boolean;
}

/** Closes a copy that nobody else will read. */
function closeUnused({ target, readers, isForgotten }: OpenedCopy): void {
  if (readers > 0 || !isForgotten) return;
  target.then(
    (opened) => opened.close(),
    // It was never opened.
    () => undefined,
  );
}

/** Yields the bytes of a range, each after its whole piece was verified; of all bytes, the last after all of them. */
async function* verified(
  target: CopyTarget,
  { sha256, bytes, pieces }: OffloadedRow,
  { start, end }: Bounds,
): AsyncGenerator<Buffer> {
  if (end < start) return;
  const first = Math.floor(start / PIECE_BYTES);
  const from = first * PIECE_BYTES;
  const until = Math.min(bytes, (Math.floor(end / PIECE_BYTES) + 1) * PIECE_BYTES) - 1;
  const isWhole = from === 0 && until === bytes - 1;
  const range = isWhole ? undefined : { start: from, end: until };
  const stream = await target.read(objectPath(sha256), undefined, range);
  if (!stream) throw new DamagedCopyError();
  const whole = createHash('sha256');
  let position = from;
  try {
    for await (const piece of inPieces(stream as AsyncIterable<Uint8Array>)) {
      if (!isPiece(pieces, Math.floor(position / PIECE_BYTES), piece)) throw new DamagedCopyError();
      if (isWhole) whole.update(piece);
      const isLast = position + piece.length > until;
      if (isLast && isWhole && whole.digest('hex') !== sha256) throw new DamagedCopyError();
      const wanted = piece.subarray(Math.max(0, start - position), end + 1 - position);
      position += piece.length;
      yield wanted;
    }
  } finally {
    stream.destroy();
  }
  if (position <= until) throw new DamagedCopyError();
}

/** An object is verified in pieces of this size, so that a part of it can be read alone. */
export const PIECE_BYTES = 1_048_576;
const DIGEST_BYTES = 32;

/** The digests of an object: of all bytes, and of each piece, 32 bytes each. */
export interface PieceDigests {
  sha256: string;
  bytes: number;
  pieces: Buffer;
}

/** Hashes an object as a whole and in pieces, in one pass. */
export async function hashPieces(chunks: AsyncIterable<Uint8Array>): Promise<PieceDigests> {
  const whole = createHash('sha256');
  const digests: Buffer[] = [];
  let bytes = 0;
  for await (const piece of inPieces(chunks)) {
    whole.update(piece);
    digests.push(hash('sha256', piece, 'buffer'));
    bytes += piece.length;
  }
  return { sha256: whole.digest('hex'), bytes, pieces: Buffer.concat(digests) };
}

/** Returns whether a piece has the recorded digest. `index` counts from 0. */
export function isPiece(pieces: Buffer, index: number, piece: Uint8Array): boolean {
  const recorded = pieces.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES);
  return recorded.equals(hash('sha256', piece, 'buffer'));
}

/** Yields the chunks of a stream in pieces; the last one may be shorter. */
export async function* inPieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let pending: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    pending.push(chunk);
    bytes += chunk.length;
    if (bytes < PIECE_BYTES) continue;
    const joined = Buffer.concat(pending);
    let start = 0;
    for (; joined.length - start >= PIECE_BYTES; start += PIECE_BYTES)
      yield joined.subarray(start, start + PIECE_BYTES);
    pending = [joined.subarray(start)];
    bytes = joined.length - start;
  }
  if (bytes > 0) yield Buffer.concat(pending);
}
