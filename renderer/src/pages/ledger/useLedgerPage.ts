import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { LedgerEntry, LedgerHead } from '../../../../shared/ledger/ledger.ts';
import { call } from '../../api/client.ts';

/** Entries per page. */
export const PAGE_ENTRIES = 50;
const REFRESH_MS = 10_000;

export interface LedgerPageData {
  head: LedgerHead;
  /** Newest first. */
  entries: LedgerEntry[];
}

/**
 * A page of the ledger, newest first: the entries up to `top`, or up to the head, which is then refreshed.
 * The node lists forward from an entry, so the first entry of the page is computed here.
 */
export function useLedgerPage(top: number | undefined) {
  return useQuery({
    queryKey: ['readLedger', 'page', top ?? 'head'],
    queryFn: ({ signal }) => readLedgerPage(top, signal),
    placeholderData: keepPreviousData,
    refetchInterval: top === undefined ? REFRESH_MS : undefined,
  });
}

async function readLedgerPage(top: number | undefined, signal: AbortSignal): Promise<LedgerPageData> {
  const last = top ?? (await call('readLedger', { query: { limit: 1 }, signal })).head.seq;
  const from = Math.max(1, last - PAGE_ENTRIES + 1);
  const limit = Math.max(1, last - from + 1);
  const { items, head } = await call('readLedger', { query: { from, limit }, signal });
  return { head, entries: items.toReversed() };
}
