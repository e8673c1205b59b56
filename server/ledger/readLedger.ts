import type { LedgerEntry, LedgerHead } from '../../shared/ledger/ledger.ts';
import { entriesFrom } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import { readHead } from './appendEntry.ts';

/** Returns up to `limit` entries from a number on, and the head, in one snapshot. */
export function readLedger(
  { read }: Pick<Store, 'read'>,
  { from, limit }: { from: number; limit: number },
): { items: LedgerEntry[]; head: LedgerHead } {
  return read.transaction(() => ({ items: entriesFrom(read, from, limit), head: readHead(read) })).deferred();
}
