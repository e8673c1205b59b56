import { rootFromPath } from '../../shared/proof/inclusion.ts';
import { parentHash } from './merkle.ts';

/** Returns the root over the leaves `from` to `to - 1` of a tree. */
export type RangeRoot = (from: number, to: number) => Buffer;

/** The largest power of two that is smaller than `size`: where RFC 6962 splits a tree. */
function splitOf(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}

/** The audit path of leaf `index` in the tree of `size` leaves (RFC 6962, section 2.1.1), nearest the leaf first. */
export function inclusionPath(index: number, size: number, rangeRoot: RangeRoot): Buffer[] {
  const path: Buffer[] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + splitOf(to - from);
    if (index < middle) {
      path.push(rangeRoot(middle, to));
      to = middle;
    } else {
      path.push(rangeRoot(from, middle));
      from = middle;
    }
  }
  return path.reverse();
}

/** The proof that the tree of `older` leaves is a prefix of the tree of `size` leaves (RFC 6962, section 2.1.2). */
export function consistencyPath(older: number, size: number, rangeRoot: RangeRoot): Buffer[] {
  if (older === 0 || older === size) return [];
  const path: Buffer[] = [];
  let [from, to] = [0, size];
  while (to !== older) {
    const middle = from + splitOf(to - from);
    if (older <= middle) {
      path.push(rangeRoot(middle, to));
      to = middle;
    } else {
      path.push(rangeRoot(from, middle));
      from = middle;
    }
  }
  // If the older tree is one complete subtree, its root is known to the verifier and left out.
  if (from > 0) path.push(rangeRoot(from, to));
  return path.reverse();
}

/** Computes the root from the hash of a leaf and its audit path; undefined if the path does not fit the tree. */
export function rootFromInclusion(
  leaf: Buffer,
  index: number,
  size: number,
  path: readonly Buffer[],
): Buffer | undefined {
  return rootFromPath(leaf, { index, size }, path, parentHash);
}

/** Verifies a consistency proof between two roots (RFC 9162, section 2.1.4.2). */
export function isConsistent(
  older: { size: number; root: Buffer },
  newer: { size: number; root: Buffer },
  proof: readonly Buffer[],
): boolean {
  if (older.size > newer.size) return false;
  if (older.size === newer.size) return proof.length === 0 && older.root.equals(newer.root);
  if (older.size === 0) return proof.length === 0;
  const isPowerOfTwo = Number.isInteger(Math.log2(older.size));
  const [first, ...rest] = isPowerOfTwo ? [older.root, ...proof] : proof;
  if (!first) return false;
  let [position, last] = [older.size - 1, newer.size - 1];
  while (position % 2 === 1) [position, last] = [Math.floor(position / 2), Math.floor(last / 2)];
  let [olderRoot, newerRoot] = [first, first];
  for (const hash of rest) {
    if (last === 0) return false;
    if (position % 2 === 1 || position === last) {
      olderRoot = parentHash(hash, olderRoot);
      newerRoot = parentHash(hash, newerRoot);
      while (position % 2 === 0 && position !== 0) [position, last] = [position / 2, Math.floor(last / 2)];
    } else {
      newerRoot = parentHash(newerRoot, hash);
    }
    [position, last] = [Math.floor(position / 2), Math.floor(last / 2)];
  }
  return last === 0 && olderRoot.equals(older.root) && newerRoot.equals(newer.root);
}
