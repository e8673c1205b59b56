import { createHash, hash } from 'node:crypto';

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
