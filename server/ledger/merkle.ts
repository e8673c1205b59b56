import { hash } from 'node:crypto';

/** The Merkle tree of RFC 6962, section 2.1: leaves are hashed with 0x00 before them, nodes with 0x01. */

export function leafHash(leaf: string): Buffer {
  return hash('sha256', `\0${leaf}`, 'buffer');
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  const node = Buffer.allocUnsafe(65);
  node[0] = 1;
  node.set(left, 1);
  node.set(right, 33);
  return hash('sha256', node, 'buffer');
}

/** The root of no leaves: the SHA-256 of nothing. */
export const EMPTY_ROOT: Buffer = hash('sha256', '', 'buffer');

/** A tree that grows a leaf at a time and remembers only the roots of its complete subtrees, largest first. */
export class GrowingTree {
  #subtrees: { size: number; hash: Buffer }[] = [];
  size = 0;

  /** Adds the hash of a complete subtree of `size` leaves (a power of two that divides the tree's size so far). */
  append(subtree: Buffer, size = 1): void {
    let added = { size, hash: subtree };
    this.size += size;
    for (let last = this.#subtrees.at(-1); last?.size === added.size; last = this.#subtrees.at(-1)) {
      this.#subtrees.pop();
      added = { size: last.size * 2, hash: nodeHash(last.hash, added.hash) };
    }
    this.#subtrees.push(added);
  }

  /** The root over all leaves so far: the subtrees joined from the right, as section 2.1 splits them. */
  root(): Buffer {
    let root: Buffer | undefined;
    for (const { hash: subtree } of this.#subtrees.toReversed())
      root = root ? nodeHash(subtree, root) : subtree;
    return root ?? EMPTY_ROOT;
  }
}
