import { hash } from 'node:crypto';

/** The Merkle tree of RFC 6962, section 2.1: leaves are hashed with 0x00 before them, nodes with 0x01. */

export function leafHash(leaf: string): Buffer {
  return hash('sha256', `\0${leaf}`, 'buffer');
}

export function parentHash(left: Uint8Array, right: Uint8Array): Buffer {
  const node = Buffer.allocUnsafe(65);
  node[0] = 1;
  node.set(left, 1);
  node.set(right, 33);
  return hash('sha256', node, 'buffer');
}

/** Bytes of a hash. */
const HASH_BYTES = 32;

/**
 * The root of a complete tree whose hashes, a power of two of them, stand one after the other in `hashes`, which is
 * overwritten. A million leaves are hashed in one verification: this makes no buffer for each node.
 */
export function completeRoot(hashes: Buffer): Buffer {
  const node = Buffer.allocUnsafe(1 + 2 * HASH_BYTES);
  node[0] = 1;
  for (let length = hashes.length; length > HASH_BYTES; length /= 2) {
    for (let left = 0; left < length; left += 2 * HASH_BYTES) {
      hashes.copy(node, 1, left, left + 2 * HASH_BYTES);
      hashes.write(hash('sha256', node, 'binary'), left / 2, 'latin1');
    }
  }
  return Buffer.from(hashes.subarray(0, HASH_BYTES));
}

/** Gathers the leaves of one complete tree; full, it gives the root and is empty again. */
export class LeafRow {
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

  /** The hashes of the leaves that came since it was empty. */
  leaves(): Buffer[] {
    return Array.from({ length: this.#bytes / HASH_BYTES }, (_, index) =>
      Buffer.from(this.#hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES)),
    );
  }

  /** Only when it is full. */
  takeRoot(): Buffer {
    this.#bytes = 0;
    return completeRoot(this.#hashes);
  }
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
      added = { size: last.size * 2, hash: parentHash(last.hash, added.hash) };
    }
    this.#subtrees.push(added);
  }

  /** The root over all leaves so far: the subtrees joined from the right, as section 2.1 splits them. */
  root(): Buffer {
    let root: Buffer | undefined;
    for (const { hash: subtree } of this.#subtrees.toReversed())
      root = root ? parentHash(subtree, root) : subtree;
    return root ?? EMPTY_ROOT;
  }
}
