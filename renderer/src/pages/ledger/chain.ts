import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { type LedgerEntry, type LedgerHead, NO_HASH } from '../../../../shared/ledger/ledger.ts';
import { canonicalText } from '../../../../shared/values/canonicalJson.ts';

/** The hash of an entry: the SHA-256 of the canonical JSON of its other fields. */
export function hashOfEntry({ hash: _own, ...unsealed }: LedgerEntry): string {
  return bytesToHex(sha256(utf8ToBytes(canonicalText(unsealed))));
}

/** A fault that this browser found in an entry. */
export interface ChainFault {
  seq: number;
  fault: string;
  expected: string;
  actual: string;
}

/** Limits the list of faults. */
const MAX_FAULTS = 200;

/**
 * Recomputes a ledger from its first entry: each entry's hash, its link to the previous entry, and the root
 * of the RFC 6962 tree over the canonical bytes of all entries. Uses nothing from the node except the
 * entries.
 */
export class ChainCheck {
  readonly faults: ChainFault[] = [];
  size = 0;
  hash = NO_HASH;
  readonly #tree = new GrowingRoot();

  add(entry: LedgerEntry): void {
    if (entry.seq !== this.size + 1)
      this.#addFault(
        entry.seq,
        'An entry is missing before this one.',
        String(this.size + 1),
        String(entry.seq),
      );
    if (entry.prev !== this.hash)
      this.#addFault(entry.seq, 'The entry does not link to the previous entry.', this.hash, entry.prev);
    const hash = hashOfEntry(entry);
    if (entry.hash !== hash)
      this.#addFault(entry.seq, 'The content does not match the hash.', hash, entry.hash);
    this.#tree.append(utf8ToBytes(canonicalText(entry)));
    this.size = entry.seq;
    this.hash = entry.hash;
  }

  root(): string {
    return bytesToHex(this.#tree.root());
  }

  /** Compares the result with the head that the node announced. */
  end(announced: LedgerHead): void {
    if (this.size !== announced.seq) {
      this.#addFault(
        announced.seq,
        'The node announced more entries than it has.',
        String(announced.seq),
        String(this.size),
      );
      return;
    }
    if (this.hash !== announced.hash)
      this.#addFault(
        this.size,
        'The node announced a different hash for the last entry.',
        this.hash,
        announced.hash,
      );
    if (this.root() !== announced.root)
      this.#addFault(this.size, 'The node announced a different root.', this.root(), announced.root);
  }

  #addFault(seq: number, fault: string, expected: string, actual: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push({ seq, fault, expected, actual });
  }
}

/** The root of an append-only RFC 6962 tree. Only the roots of complete subtrees are kept. */
class GrowingRoot {
  readonly #subtrees: { height: number; hash: Uint8Array }[] = [];

  append(leaf: Uint8Array): void {
    let grown = { height: 0, hash: hashOfParts(0, leaf) };
    for (let last = this.#subtrees.at(-1); last?.height === grown.height; last = this.#subtrees.at(-1)) {
      this.#subtrees.pop();
      grown = { height: grown.height + 1, hash: hashOfParts(1, last.hash, grown.hash) };
    }
    this.#subtrees.push(grown);
  }

  root(): Uint8Array {
    const [last, ...others] = this.#subtrees.toReversed();
    if (!last) return sha256(new Uint8Array());
    return others.reduce((right, { hash }) => hashOfParts(1, hash, right), last.hash);
  }
}

/** Leaves and inner nodes have different prefixes, so that neither can be mistaken for the other. */
export function hashOfParts(kind: 0 | 1, ...parts: Uint8Array[]): Uint8Array {
  const hash = sha256.create().update(Uint8Array.of(kind));
  for (const part of parts) hash.update(part);
  return hash.digest();
}
