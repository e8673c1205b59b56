import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { canonicalText } from '../../../../shared/canonicalJson.ts';
import { type LedgerEntry, type LedgerHead, NO_HASH } from '../../../../shared/ledger.ts';

/** The hash that an entry must bear: the SHA-256 of the canonical JSON of all else in it. */
export function hashOfEntry({ hash: _own, ...unsealed }: LedgerEntry): string {
  return bytesToHex(sha256(utf8ToBytes(canonicalText(unsealed))));
}

/** What this browser found wrong with one entry, in words. */
export interface ChainFault {
  seq: number;
  fault: string;
  expected: string;
  actual: string;
}

/** More would help nobody. */
const MAX_FAULTS = 200;

/**
 * Recomputes a ledger from its first entry on: each entry's hash, its link to the one before, and the root of the
 * RFC 6962 tree over the canonical bytes of all entries. Nothing is taken from the node but the entries themselves.
 */
export class ChainCheck {
  readonly faults: ChainFault[] = [];
  size = 0;
  hash = NO_HASH;
  readonly #tree = new GrowingRoot();

  add(entry: LedgerEntry): void {
    if (entry.seq !== this.size + 1)
      this.#tell(entry.seq, 'An entry is missing before this one.', String(this.size + 1), String(entry.seq));
    if (entry.prev !== this.hash)
      this.#tell(entry.seq, 'It does not link to the entry before it.', this.hash, entry.prev);
    const hash = hashOfEntry(entry);
    if (entry.hash !== hash)
      this.#tell(entry.seq, 'Its content does not hash to its hash.', hash, entry.hash);
    this.#tree.append(utf8ToBytes(canonicalText(entry)));
    this.size = entry.seq;
    this.hash = entry.hash;
  }

  root(): string {
    return bytesToHex(this.#tree.root());
  }

  /** Holds what was recomputed against the head that the node had announced. */
  end(announced: LedgerHead): void {
    if (this.size !== announced.seq) {
      this.#tell(
        announced.seq,
        'The node announced more entries than it has.',
        String(announced.seq),
        String(this.size),
      );
      return;
    }
    if (this.hash !== announced.hash)
      this.#tell(this.size, 'The node announced another hash of the last entry.', this.hash, announced.hash);
    if (this.root() !== announced.root)
      this.#tell(this.size, 'The node announced another root.', this.root(), announced.root);
  }

  #tell(seq: number, fault: string, expected: string, actual: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push({ seq, fault, expected, actual });
  }
}

/** The root of an RFC 6962 tree that grows at its right edge; only the roots of its whole subtrees are kept. */
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

/** Leaves and inner nodes are told apart by their first byte, so that neither can pass for the other. */
export function hashOfParts(kind: 0 | 1, ...parts: Uint8Array[]): Uint8Array {
  const hash = sha256.create().update(Uint8Array.of(kind));
  for (const part of parts) hash.update(part);
  return hash.digest();
}
