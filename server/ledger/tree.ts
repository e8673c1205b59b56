import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import { entriesFrom, insertTile, tileHashes } from '../store/sqlite/node/ledger.ts';
import { entryText } from './entry.ts';
import { GrowingTree, leafHash } from './merkle.ts';

/** The number of hashes that one tile combines; a power of two, as in C2SP tlog-tiles. */
export const TILE_WIDTH = 256;

/** Returns the hashes of the leaves `from` to `to - 1`, counted from 0: leaf n is entry n + 1. */
export function leafHashes(database: ReadDatabase, from: number, to: number): Buffer[] {
  return entriesFrom(database, from + 1, to - from).map((entry) => leafHash(entryText(entry)));
}

/** Writes the tiles that the last inserted entry completes. `size` is the size of the ledger including it. */
export function appendTiles(database: WriteDatabase, size: number): void {
  let span = TILE_WIDTH;
  for (let level = 1; size % span === 0; level += 1, span *= TILE_WIDTH) {
    const position = size / span - 1;
    const first = position * TILE_WIDTH;
    const hashes =
      level === 1
        ? leafHashes(database, first, first + TILE_WIDTH)
        : tileHashes(database, level - 1, first, first + TILE_WIDTH);
    insertTile(database, level, position, rootOfHashes(hashes));
  }
}

/** Returns the root over `size` entries, computed from tiles and at most 255 entries that are in no tile yet. */
export function rootAt(database: ReadDatabase, size: number): Buffer {
  return rangeRoot(database, 0, size);
}

/**
 * Returns the root over the leaves `from` to `to - 1`. As everywhere in RFC 6962, `from` is a multiple of the largest
 * power of two within the range, so that no tile crosses the beginning of the range.
 */
export function rangeRoot(database: ReadDatabase, from: number, to: number): Buffer {
  const tree = new GrowingTree();
  let level = 0;
  for (let span = TILE_WIDTH; span <= to - from; span *= TILE_WIDTH) level += 1;
  for (; level >= 1; level -= 1) {
    const span = TILE_WIDTH ** level;
    const hashes = tileHashes(database, level, (from + tree.size) / span, Math.floor(to / span));
    for (const hash of hashes) tree.append(hash, span);
  }
  for (const hash of leafHashes(database, from + tree.size, to)) tree.append(hash);
  return tree.root();
}

function rootOfHashes(hashes: readonly Buffer[]): Buffer {
  const tree = new GrowingTree();
  for (const hash of hashes) tree.append(hash);
  return tree.root();
}
