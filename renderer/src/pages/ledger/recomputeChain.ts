import type { LedgerEntry, LedgerHead } from '../../../../shared/ledger.ts';
import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import { call } from '../../api/client.ts';
import { ChainCheck, type ChainFault } from './chain.ts';

/** What came of recomputing the ledger in this browser. */
export interface Recomputed {
  size: number;
  hash: string;
  root: string;
  faults: ChainFault[];
  milliseconds: number;
}

/**
 * Fetches the entries up to the head that the node announced, page by page, and recomputes them here; the next page is
 * on its way while one is hashed. Throws what the fetch throws, an AbortError when the signal is aborted.
 */
export async function recomputeChain(
  announced: LedgerHead,
  { signal, tell }: { signal: AbortSignal; tell: (done: number) => void },
): Promise<Recomputed> {
  const size = announced.seq;
  const started = performance.now();
  const check = new ChainCheck();
  let next = entriesFrom(1, size, signal);
  while (check.size < size) {
    const entries = await next;
    const last = entries.at(-1)?.seq ?? 0;
    // A node that gives nothing new would be asked for ever.
    if (last <= check.size) break;
    if (last < size) next = entriesFrom(last + 1, size, signal);
    for (const entry of entries) check.add(entry);
    tell(check.size);
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
