import type { ProofCrypto } from './algorithms.ts';
import { concat, fromBase64, utf8 } from './bytes.ts';
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
    throw new ProofError('The proof is of an entry that the checkpoint does not cover.');
  const path = hashes.map(fromBase64);
  const root = rootFromPath(hash(0, utf8(leaf)), place, path, (left, right) => hash(1, left, right));
  if (!root) throw new ProofError('The proof does not have the length that the tree needs.');
  return root;
}
