import { hash } from 'node:crypto';
import { TILE_PATH } from '../../shared/ledger/ledger.ts';
import { Problem } from '../../shared/problems.ts';
import { TILE_WIDTH, type TileAddress } from '../../shared/proof/ledger/tree.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import { entriesFrom, insertTile, tileHashes } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import { entryText } from './entry.ts';

/** The Merkle tree of RFC 6962, section 2.1: 0x00 is prepended to leaves, 0x01 to pairs of hashes. */

export function leafHash(leaf: string): Buffer {
  return hash('sha256', `\0${leaf}`, 'buffer');
}

export function parentHash(left: Uint8Array, right: Uint8Array): Buffer {
  const pair = Buffer.allocUnsafe(65);
  pair[0] = 1;
  pair.set(left, 1);
  pair.set(right, 33);
  return hash('sha256', pair, 'buffer');
}

const HASH_BYTES = 32;

/**
 * Returns the root of a complete tree. `hashes` holds its leaf hashes, a power of two of them, and is overwritten.
 * One verification hashes a million leaves, so this allocates no buffer for each inner hash.
 */
function completeRoot(hashes: Buffer): Buffer {
  const pair = Buffer.allocUnsafe(1 + 2 * HASH_BYTES);
  pair[0] = 1;
  for (let length = hashes.length; length > HASH_BYTES; length /= 2) {
    for (let left = 0; left < length; left += 2 * HASH_BYTES) {
      hashes.copy(pair, 1, left, left + 2 * HASH_BYTES);
      hashes.write(hash('sha256', pair, 'binary'), left / 2, 'latin1');
    }
  }
  return Buffer.from(hashes.subarray(0, HASH_BYTES));
}

/** Collects the leaves of one complete tree. When it is full, `drainRoot` returns the root and empties it. */
export class LeafBuffer {
  readonly #hashes: Buffer;
  #bytes = 0;

  /** @param width a power of two */
  constructor(width: number) {
    this.#hashes = Buffer.allocUnsafe(width * HASH_BYTES);
  }

  append(leaf: string): void {
    this.#bytes += this.#hashes.write(hash('sha256', `\0${leaf}`, 'binary'), this.#bytes, 'latin1');
  }

  get isFull(): boolean {
    return this.#bytes === this.#hashes.length;
  }

  /** The hashes of the collected leaves. */
  leaves(): Buffer[] {
    return Array.from({ length: this.#bytes / HASH_BYTES }, (_, index) =>
      Buffer.from(this.#hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES)),
    );
  }

  /** Returns the root and empties the buffer. Only valid when it is full. */
  drainRoot(): Buffer {
    this.#bytes = 0;
    return completeRoot(this.#hashes);
  }
}

/** The root of a tree without leaves: the SHA-256 of the empty string. */
export const EMPTY_ROOT: Buffer = hash('sha256', '', 'buffer');

/** An append-only tree that stores only the roots of its complete subtrees, largest first. */
export class GrowingTree {
  #subtrees: { size: number; hash: Buffer }[] = [];
  size = 0;

  /** Appends the root of a complete subtree of `size` leaves, a power of two that divides the tree's current size. */
  append(subtree: Buffer, size = 1): void {
    let added = { size, hash: subtree };
    this.size += size;
    for (let last = this.#subtrees.at(-1); last?.size === added.size; last = this.#subtrees.at(-1)) {
      this.#subtrees.pop();
      added = { size: last.size * 2, hash: parentHash(last.hash, added.hash) };
    }
    this.#subtrees.push(added);
  }

  /** Returns the root over all leaves: the subtrees are combined from the right, as section 2.1 splits them. */
  root(): Buffer {
    let root: Buffer | undefined;
    for (const { hash: subtree } of this.#subtrees.toReversed())
      root = root ? parentHash(subtree, root) : subtree;
    return root ?? EMPTY_ROOT;
  }
}

/** Returns the hashes of the leaves `from` to `to - 1`, counted from 0: leaf n is entry n + 1. */
function leafHashes(database: ReadDatabase, from: number, to: number): Buffer[] {
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

/**
 * Reads what follows `tile/` in the address of a tile: `0/x001/x234/067` or `entries/000.p/17`.
 *
 * @throws Problem `not_found` where the path is written in another way: each tile has one address.
 */
export function parseTilePath(path: string): TileAddress {
  const [, level, index = '', width] = TILE_PATH.exec(path) ?? [];
  if (level === undefined) throw tileNotFound();
  return {
    level: level === 'entries' ? level : Number(level),
    index: Number(index.replace(/[x/]/g, '')),
    width: width === undefined ? TILE_WIDTH : Number(width),
  };
}

function tileNotFound(): Problem {
  return new Problem(
    'not_found',
    'The log has no such tile. Read /log/checkpoint for its size, and ask for the tiles of a tree of that size.',
  );
}

/**
 * The bytes of a tile: its hashes, 32 bytes each, or its entries. Every partial tile that the ledger ever had is still
 * answered, because a checkpoint of that size may be held by somebody.
 *
 * @throws Problem `not_found` where the ledger is not large enough to have it
 */
export function readTile({ read }: Pick<Store, 'read'>, { level, index, width }: TileAddress): Buffer {
  const from = index * TILE_WIDTH;
  const to = from + width;
  let parts: Buffer[];
  if (level === 'entries')
    parts = entriesFrom(read, from + 1, width).map((entry) => framedLeaf(entryText(entry)));
  else if (level === 0) parts = leafHashes(read, from, to);
  else parts = tileHashes(read, level, from, to);
  if (parts.length < width) throw tileNotFound();
  return Buffer.concat(parts);
}

/** A leaf in a tile of entries: after its length in two bytes, highest first. The largest entry is below 1,000 bytes. */
export function framedLeaf(leaf: string): Buffer {
  const bytes = Buffer.from(`\0\0${leaf}`);
  bytes.writeUInt16BE(bytes.length - 2);
  return bytes;
}
