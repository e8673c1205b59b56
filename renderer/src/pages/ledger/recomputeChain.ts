import type { LedgerEntry, LedgerHead } from '../../../../shared/ledger/ledger.ts';
import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import { call } from '../../api/client.ts';
import { ChainCheck, type ChainFault } from './chain.ts';

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
export async function recomputeChain(
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
