import { Problem } from '../../../shared/problems.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../../fixity/audit.ts';
import { requireIntact } from '../../fixity/damages.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import { withheldAmong } from '../../store/sqlite/node/withheld.ts';
import { type Reader, requireAllReadable, requireReadable } from '../../withholding/withholding.ts';
import type { ByteRange } from '../../zip/writeZip.ts';
import type { OpenedSet } from './readSet.ts';
import type { SetPart } from './setIndex.ts';

/** The files whose parts are looked up before other requests have their turn. */
const FILES_AT_ONCE = 500;

/** Returns the position of the file at a path. @throws Problem `not_found` */
export function requireFile({ pack, index }: OpenedSet, path: string): number {
  const file = index.find(path);
  if (file === undefined) throw new Problem('not_found', `The set ${pack.id} has no file ${path}.`);
  return file;
}

/** Returns the digests whose bytes a file of a set consists of, and that of its list. */
export function digestsOfFile({ file: list, index }: OpenedSet, file: number): string[] {
  return [list, ...index.partsOf(file).map(({ sha256 }) => sha256)];
}

/**
 * Requires that a reader may read the list of a set, and all of its files. Returns a digest that is withheld from visitors,
 * if there is one, for the headers of an answer to the owner.
 *
 * @throws Problem `withheld`, `released`
 */
export async function requireSetReadable(
  { read }: DamageContext,
  set: OpenedSet,
  reader: Reader,
): Promise<string | undefined> {
  requireReadable(read, set.file, reader);
  let [withheld] = withheldAmong(read, [set.file]);
  for (let from = 0; from < set.index.count; from += FILES_AT_ONCE) {
    const digests: string[] = [];
    for (let file = from; file < Math.min(from + FILES_AT_ONCE, set.index.count); file += 1)
      for (const { sha256 } of set.index.partsOf(file)) digests.push(sha256);
    requireAllReadable(read, digests, reader);
    withheld ??= withheldAmong(read, digests)[0];
    await yieldToEventLoop();
  }
  return withheld;
}

/** A part of a file, and the range of its bytes that is wanted. */
interface Piece {
  part: SetPart;
  range: ByteRange;
}

function piecesOf(parts: readonly SetPart[], { start, end }: ByteRange): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const part of parts) {
    const range = { start: Math.max(start - at, 0), end: Math.min(end - at, part.bytes - 1) };
    if (range.start <= range.end) pieces.push({ part, range });
    at += part.bytes;
  }
  return pieces;
}

/** Requires that no part with bytes in these ranges is known to be damaged. @throws Problem `blob_damaged` */
export async function requireIntactParts(
  store: DamageContext,
  parts: readonly SetPart[],
  ranges: readonly ByteRange[],
): Promise<void> {
  const wanted = new Set(ranges.flatMap((range) => piecesOf(parts, range).map(({ part }) => part)));
  for (const part of wanted) await requireIntact(store, part);
}

/**
 * Reads bytes of a file of a set, across its parts.
 *
 * @throws Problem `blob_damaged` if a part is missing or has another size; `copy_unreachable`, `released`
 */
export async function* readParts(
  store: DamageContext,
  parts: readonly SetPart[],
  range: ByteRange,
): AsyncGenerator<Uint8Array> {
  for (const piece of piecesOf(parts, range)) {
    let missing = piece.range.end - piece.range.start + 1;
    try {
      for await (const chunk of store.blobs.read(piece.part.sha256, piece.range)) {
        missing -= chunk.length;
        yield chunk;
      }
    } catch (error) {
      if (!isBlobDamageError(error)) throw error;
      await reportDamage(store, piece.part, error);
    }
    if (missing !== 0) await reportDamage(store, piece.part);
  }
}

async function reportDamage(store: DamageContext, { sha256 }: SetPart, cause?: unknown): Promise<never> {
  await confirmDamage(store, [sha256]);
  throw new Problem('blob_damaged', 'A part of this set is missing or damaged. Verify the set for details.', {
    cause,
  });
}
