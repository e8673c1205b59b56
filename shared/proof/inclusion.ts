import type { ProofCrypto } from './algorithms.ts';
import { concat, fromBase64, utf8 } from './bytes.ts';
import { ProofError } from './signedNote.ts';

/**
 * Computes the root of a Merkle tree from a leaf and its audit path (RFC 9162, section 2.1.3.2).
 *
 * @param hashes the path, in base64, nearest the leaf first
 * @throws ProofError if the path does not fit the tree; RangeError
 */
export function rootFromLeaf(
  leaf: string,
  { index, size }: { index: number; size: number },
  hashes: readonly string[],
  crypto: ProofCrypto,
): Uint8Array {
  const parent = (left: Uint8Array, right: Uint8Array) =>
    crypto.digest('sha256', concat(Uint8Array.of(1), left, right));
  if (index < 0 || index >= size)
    throw new ProofError('The proof is of an entry that the checkpoint does not cover.');
  let root = crypto.digest('sha256', concat(Uint8Array.of(0), utf8(leaf)));
  let [position, last] = [index, size - 1];
  for (const hash of hashes.map(fromBase64)) {
    if (last === 0) throw new ProofError('The proof is too long.');
    if (position % 2 === 1 || position === last) {
      root = parent(hash, root);
      while (position % 2 === 0 && position !== 0) [position, last] = [position / 2, Math.floor(last / 2)];
    } else {
      root = parent(root, hash);
    }
    [position, last] = [Math.floor(position / 2), Math.floor(last / 2)];
  }
  if (last !== 0) throw new ProofError('The proof is too short.');
  return root;
}
