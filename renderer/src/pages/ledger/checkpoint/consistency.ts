import { hexToBytes } from '@noble/hashes/utils.js';
import type { ConsistencyProof } from '../../../../../shared/ledger/ledger.ts';
import { hashOfParts } from '../chain.ts';

interface TreeHead {
  size: number;
  root: Uint8Array;
}

/**
 * Verifies a consistency proof (RFC 9162, section 2.1.4.2): the current ledger begins with the saved one. The
 * saved root is the person's own copy, so a node that rewrote its ledger cannot produce this proof.
 */
export function provesConsistency(
  saved: { seq: number; root: string },
  now: { seq: number; root: string },
  { hashes }: Pick<ConsistencyProof, 'hashes'>,
): boolean {
  return isConsistent(
    { size: saved.seq, root: hexToBytes(saved.root) },
    { size: now.seq, root: hexToBytes(now.root) },
    hashes.map(bytesOfBase64),
  );
}

function isConsistent(older: TreeHead, newer: TreeHead, proof: Uint8Array[]): boolean {
  if (older.size > newer.size) return false;
  if (older.size === newer.size) return proof.length === 0 && isSame(older.root, newer.root);
  if (older.size === 0) return proof.length === 0;
  // If the saved ledger is one complete subtree, the proof omits its hash: it equals the saved root.
  const isWholeSubtree = Number.isInteger(Math.log2(older.size));
  const [first, ...rest] = isWholeSubtree ? [older.root, ...proof] : proof;
  if (!first) return false;
  let position = older.size - 1;
  let last = newer.size - 1;
  const climb = () => {
    position = Math.floor(position / 2);
    last = Math.floor(last / 2);
  };
  while (position % 2 === 1) climb();
  let olderRoot = first;
  let newerRoot = first;
  for (const hash of rest) {
    if (last === 0) return false;
    if (position % 2 === 1 || position === last) {
      olderRoot = hashOfParts(1, hash, olderRoot);
      newerRoot = hashOfParts(1, hash, newerRoot);
      while (position % 2 === 0 && position !== 0) climb();
    } else {
      newerRoot = hashOfParts(1, newerRoot, hash);
    }
    climb();
  }
  return last === 0 && isSame(olderRoot, older.root) && isSame(newerRoot, newer.root);
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

function bytesOfBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
