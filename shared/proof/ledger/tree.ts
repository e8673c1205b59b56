import type { ProofCrypto } from '../crypto/algorithms.ts';
import { concat, isSameBytes, strictBase64, utf8 } from '../crypto/bytes.ts';
import { ProofError } from './signedNote.ts';

/**
 * Computes the root of a Merkle tree from the hash of a leaf and its audit path (RFC 9162, section 2.1.3.2).
 *
 * @param path nearest the leaf first
 * @param parent hashes two hashes
 * @returns undefined if the path does not fit the tree
 */
export function rootFromPath<Hash extends Uint8Array>(
  leaf: Hash,
  { index, size }: { index: number; size: number },
  path: readonly Hash[],
  parent: (left: Hash, right: Hash) => Hash,
): Hash | undefined {
  if (index < 0 || index >= size) return undefined;
  let [position, last, root] = [index, size - 1, leaf];
  for (const hash of path) {
    if (last === 0) return undefined;
    if (position % 2 === 1 || position === last) {
      root = parent(hash, root);
      while (position % 2 === 0 && position !== 0) [position, last] = [position / 2, Math.floor(last / 2)];
    } else {
      root = parent(root, hash);
    }
    [position, last] = [Math.floor(position / 2), Math.floor(last / 2)];
  }
  return last === 0 ? root : undefined;
}

/** A tree of which only the size and the root are known. */
export interface TreeHead<Hash extends Uint8Array> {
  size: number;
  root: Hash;
}

/**
 * Verifies a consistency proof between two roots (RFC 9162, section 2.1.4.2): the newer tree begins with the older one.
 *
 * @param parent hashes two hashes
 */
export function isConsistent<Hash extends Uint8Array>(
  older: TreeHead<Hash>,
  newer: TreeHead<Hash>,
  proof: readonly Hash[],
  parent: (left: Hash, right: Hash) => Hash,
): boolean {
  if (older.size > newer.size) return false;
  if (older.size === newer.size) return proof.length === 0 && isSameBytes(older.root, newer.root);
  if (older.size === 0) return proof.length === 0;
  // If the older tree is one complete subtree, the proof omits its root, which the verifier knows.
  const isComplete = Number.isInteger(Math.log2(older.size));
  const [first, ...rest] = isComplete ? [older.root, ...proof] : proof;
  if (!first) return false;
  let [position, last] = [older.size - 1, newer.size - 1];
  while (position % 2 === 1) [position, last] = [Math.floor(position / 2), Math.floor(last / 2)];
  let [olderRoot, newerRoot] = [first, first];
  for (const hash of rest) {
    if (last === 0) return false;
    if (position % 2 === 1 || position === last) {
      olderRoot = parent(hash, olderRoot);
      newerRoot = parent(hash, newerRoot);
      while (position % 2 === 0 && position !== 0) [position, last] = [position / 2, Math.floor(last / 2)];
    } else {
      newerRoot = parent(newerRoot, hash);
    }
    [position, last] = [Math.floor(position / 2), Math.floor(last / 2)];
  }
  return last === 0 && isSameBytes(olderRoot, older.root) && isSameBytes(newerRoot, newer.root);
}

/**
 * Computes the root of a Merkle tree from a leaf and its audit path.
 *
 * @param hashes the path, in base64, nearest the leaf first
 * @throws ProofError if the path does not fit the tree; RangeError
 */
export function rootFromLeaf(
  leaf: string,
  place: { index: number; size: number },
  hashes: readonly string[],
  crypto: ProofCrypto,
): Uint8Array {
  const hash = (prefix: number, ...parts: Uint8Array[]) =>
    crypto.digest('sha256', concat(Uint8Array.of(prefix), ...parts));
  if (place.index < 0 || place.index >= place.size)
    throw new ProofError('The proof is for an entry that the checkpoint does not cover.');
  const path = hashes.map(strictBase64);
  const root = rootFromPath(hash(0, utf8(leaf)), place, path, (left, right) => hash(1, left, right));
  if (!root) throw new ProofError('The proof does not have the length that the tree needs.');
  return root;
}

/** The number of hashes in a full tile of a log, and of entries (C2SP tlog-tiles). */
export const TILE_WIDTH = 256;

/** Which tile of the log it is. */
export interface TileAddress {
  /** The level of its hashes, leaves being level 0; or `entries` for the leaves themselves. */
  level: number | 'entries';
  /** Its place within the level, counted from 0. */
  index: number;
  /** How many hashes or entries it holds: 256 in a full tile, fewer in a partial one. */
  width: number;
}

/** The path of a tile: `tile/0/x001/234` or `tile/entries/000.p/17`. */
export function tilePath({ level, index, width }: TileAddress): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? [];
  const last = groups.pop() ?? '000';
  const number = [...groups.map((group) => `x${group}`), last].join('/');
  return `tile/${level}/${number}${width < TILE_WIDTH ? `.p/${width}` : ''}`;
}

/** Splits a tile of entries: each leaf is after its length in two bytes, highest first. A leaf that is cut is left out. */
export function splitEntries(tile: Uint8Array): Uint8Array[] {
  const leaves: Uint8Array[] = [];
  for (let at = 0; at + 2 <= tile.length; ) {
    const end = at + 2 + (((tile[at] ?? 0) << 8) | (tile[at + 1] ?? 0));
    if (end > tile.length) break;
    leaves.push(tile.subarray(at + 2, end));
    at = end;
  }
  return leaves;
}
