import { createHash } from 'node:crypto';
import { Problem } from '../../../shared/problems.ts';
import type { Bounds, Elsewhere } from '../../store/blobs/blobStore.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { allCopies, copyById } from '../../store/sqlite/node/copies.ts';
import {
  copiesHolding,
  type OffloadedRow,
  offloadedObject,
} from '../../store/sqlite/node/offloadedObjects.ts';
import { objectPath } from '../copyPaths.ts';
import { readCredentials } from '../keys/credentials.ts';
import { openTarget } from '../targets/openTarget.ts';
import { CopyError, type CopyTarget } from '../targets/target.ts';
import { inPieces, isPiece, PIECE_BYTES } from './pieces.ts';

/** The bytes in a copy are missing or others than were sent. */
class DamagedCopyError extends Error {}

/**
 * Reads objects that have left this disk from the copies that hold them. Each mebibyte is hashed and compared with what
 * was recorded when the object left, before any of it is given to a reader. If one copy fails, the next one continues.
 */
export class ReadThrough implements Elsewhere {
  readonly #archive: { read: ReadDatabase; folder: string };
  readonly #targets = new Map<string, Promise<CopyTarget>>();

  constructor(archive: { read: ReadDatabase; folder: string }) {
    this.#archive = archive;
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
      try {
        const target = await this.#target(copy);
        for await (const bytes of verified(target, row, { start: position, end })) {
          position += bytes.length;
          yield bytes;
        }
        return;
      } catch (error) {
        if (error instanceof CopyError) unreachable = error;
        else if (!(error instanceof DamagedCopyError)) throw error;
        if (error instanceof CopyError) this.#forget(copy);
      }
    }
    if (unreachable)
      throw new Problem(
        'copy_unreachable',
        `These bytes have left this disk, and the copy that holds them cannot be read. ${unreachable.message}`,
        { cause: unreachable },
      );
    throw new Problem(
      'blob_damaged',
      'These bytes have left this disk, and every copy of them is damaged or missing. Put back a copy that is intact.',
    );
  }

  /** Opens a copy to be read, once. @throws CopyError */
  #target(copy: string): Promise<CopyTarget> {
    const opened = this.#targets.get(copy) ?? this.#open(copy);
    this.#targets.set(copy, opened);
    return opened;
  }

  async #open(copy: string): Promise<CopyTarget> {
    const { read, folder } = this.#archive;
    const row = copyById(read, copy);
    if (!row) throw new CopyError('The copy was removed.');
    const credentials = await readCredentials(folder);
    return openTarget({ ...row, ...credentials[copy] });
  }

  /** A disk may be connected again, and a bucket get another key. */
  #forget(copy: string): void {
    this.#targets.delete(copy);
  }

  close(): void {
    for (const target of this.#targets.values())
      target.then(
        (opened) => opened.close(),
        // It was never opened.
        () => undefined,
      );
    this.#targets.clear();
  }
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
    for await (const piece of inPieces(explained(stream, target))) {
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

/** A stream that ends with an error is a copy that cannot be reached. */
async function* explained(stream: AsyncIterable<Uint8Array>, target: CopyTarget): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (cause) {
    throw new CopyError(`${target.name} stopped answering. Check its disk or the network.`, { cause });
  }
}
