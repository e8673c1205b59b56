import { type EntryType, type LedgerEntry, type LedgerHead, NO_HASH } from '../../shared/ledger/ledger.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import { insertEntry, lastEntry } from '../store/sqlite/node/ledger.ts';
import { hashOf } from './entry.ts';
import { archiveReadOnly, isReadOnly } from './readOnly.ts';
import { appendTiles, rootAt } from './tree.ts';

/**
 * Appends one entry inside the caller's transaction, so that the entry and what it records are durable together or not
 * at all. Its time is never before that of the previous entry.
 *
 * @throws Problem `archive_read_only`
 * @param recorded `digest` is the SHA-256 of the canonical JSON of what is recorded, in hex (`fingerprintOf`).
 */
export function appendEntry(
  database: WriteDatabase,
  recorded: { type: EntryType; subject: string; digest: string; at: string },
): LedgerEntry {
  if (isReadOnly(database)) throw archiveReadOnly();
  const last = lastEntry(database);
  const at = last && last.at > recorded.at ? last.at : recorded.at;
  const unsealed = { ...recorded, at, seq: (last?.seq ?? 0) + 1, prev: last?.hash ?? NO_HASH };
  const entry = { ...unsealed, hash: hashOf(unsealed) };
  insertEntry(database, entry);
  appendTiles(database, entry.seq);
  return entry;
}

/** Returns the number of the next entry. Valid only inside the transaction that appends it. */
export function nextSeq(database: WriteDatabase): number {
  return (lastEntry(database)?.seq ?? 0) + 1;
}

/** Reads the head: the number and hash of the last entry, and the root of the tree over all entries, in hex. */
export function readHead(database: ReadDatabase): LedgerHead {
  const last = lastEntry(database);
  const seq = last?.seq ?? 0;
  return { seq, hash: last?.hash ?? NO_HASH, root: rootAt(database, seq).toString('hex') };
}
