import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { create } from 'zustand';
import { type LedgerEntry, type LedgerHead, NO_HASH } from '../../../../shared/ledger/ledger.ts';
import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import { canonicalText } from '../../../../shared/values/canonicalJson.ts';
import { call } from '../../api/client.ts';
import { runLocalJob } from '../../state/jobs.ts';

/** The hash of an entry: the SHA-256 of the canonical JSON of its other fields. */
export function hashOfEntry({ hash: _own, ...unsealed }: LedgerEntry): string {
  return bytesToHex(sha256(utf8ToBytes(canonicalText(unsealed))));
}

/** A fault that this browser found in an entry. */
interface ChainFault {
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

/** The result of recomputing the ledger in this browser. */
export interface Recomputed {
  size: number;
  hash: string;
  root: string;
  faults: ChainFault[];
  milliseconds: number;
}

/**
 * Downloads the entries up to the announced head page by page and recomputes them; the next page loads while
 * one is hashed. Throws what the request throws, or an AbortError when the signal is aborted.
 */
async function recomputeChain(
  announced: LedgerHead,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (done: number) => void },
): Promise<Recomputed> {
  const size = announced.seq;
  const started = performance.now();
  const check = new ChainCheck();
  let next = entriesFrom(1, size, signal);
  while (check.size < size) {
    const entries = await next;
    const last = entries.at(-1)?.seq ?? 0;
    // Stops if a page brings nothing new, to avoid an endless loop.
    if (last <= check.size) break;
    if (last < size) next = entriesFrom(last + 1, size, signal);
    for (const entry of entries) check.add(entry);
    onProgress(check.size);
  }
  check.end(announced);
  return {
    size: check.size,
    hash: check.hash,
    root: check.root(),
    faults: check.faults,
    milliseconds: performance.now() - started,
  };
}

async function entriesFrom(from: number, size: number, signal: AbortSignal): Promise<LedgerEntry[]> {
  const limit = Math.min(MAX_LIST_LIMIT, size - from + 1);
  const { items } = await call('readLedger', { query: { from, limit }, signal });
  return items;
}

type Recomputation =
  | { state: 'running'; done: number; total: number; rate: number; cancel: () => void }
  | { state: 'done'; result: Recomputed; at: string }
  | { state: 'failed'; error: unknown };

interface RecomputationState {
  current: Recomputation | undefined;
  /** Never rejects: the outcome is in `current`. */
  start: (announced: LedgerHead) => Promise<void>;
}

/** The recomputation in this browser. It continues when the page is left. */
export const useRecomputation = create<RecomputationState>()((set) => ({
  current: undefined,
  start: async (announced) => {
    const size = announced.seq;
    const abort = new AbortController();
    const started = performance.now();
    const show = (current: Recomputation | undefined) => set({ current });
    const showProgress = (done: number) => {
      const seconds = Math.max(0.001, (performance.now() - started) / 1000);
      show({ state: 'running', done, total: size, rate: done / seconds, cancel: () => abort.abort() });
    };
    showProgress(0);
    try {
      const result = await runLocalJob(
        { title: 'Recomputing the ledger in this browser', unit: 'entries', href: '/ledger', abort },
        ({ signal, onProgress }) =>
          recomputeChain(announced, {
            signal,
            onProgress: (done) => {
              onProgress(done, size);
              showProgress(done);
            },
          }),
      );
      show({ state: 'done', result, at: new Date().toISOString() });
    } catch (error) {
      show(abort.signal.aborted ? undefined : { state: 'failed', error });
    }
  },
}));
