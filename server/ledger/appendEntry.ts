import { eventTitle } from '../../shared/collection/eventText.ts';
import {
  type EntryTitle,
  type EntryType,
  type LedgerEntry,
  type LedgerHead,
  NO_HASH,
} from '../../shared/ledger/ledger.ts';
import { Problem } from '../../shared/problems.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import { onSnapshot } from '../store/sqlite/engine/queries.ts';
import {
  type EntryTitleRow,
  entriesFrom,
  insertEntry,
  lastEntry,
  titlesFrom,
} from '../store/sqlite/node/ledger.ts';
import { deleteSetting, readSetting, writeSetting } from '../store/sqlite/node/owner.ts';
import type { Store } from '../store/store.ts';
import { hashOf } from './entry.ts';
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

/** Returns up to `limit` entries from a number on, and the head, in one snapshot. */
export function readLedger(
  { read }: Pick<Store, 'read'>,
  { from, limit }: { from: number; limit: number },
): { items: LedgerEntry[]; head: LedgerHead } {
  return onSnapshot(read, () => ({ items: entriesFrom(read, from, limit), head: readHead(read) }));
}

/** The setting that marks an archive which was restored from a copy and has no key yet. */
const READ_ONLY = 'restored_read_only';

/** Returns whether the archive was restored from a copy and its owner has not yet chosen a key. */
export function isReadOnly(database: ReadDatabase): boolean {
  return readSetting(database, READ_ONLY) === true;
}

/** Makes an archive read-only until its owner chooses a key. */
export function markReadOnly(database: WriteDatabase): void {
  writeSetting(database, READ_ONLY, true);
}

/** Makes an archive writable again. */
export function endReadOnly(database: WriteDatabase): void {
  deleteSetting(database, READ_ONLY);
}

export function archiveReadOnly(): Problem {
  return new Problem(
    'archive_read_only',
    'This archive was restored from a copy and is read-only. Stop the node and run “strongroom key --renew”, or “strongroom key --same-key” if you have put its key file back.',
  );
}

/** Returns what entries are about, in words. What no entry proves: a source may have another name today. */
export function listEntryTitles(
  { read }: Pick<Store, 'read'>,
  { from, limit }: { from: number; limit: number },
): EntryTitle[] {
  return titlesFrom(read, from, limit).map((row) => ({ seq: row.seq, title: wordsOf(row) }));
}

function wordsOf({ title, event_type, retrievals }: EntryTitleRow): string | null {
  if (retrievals !== null) return retrievals === 1 ? '1 retrieval' : `${retrievals} retrievals`;
  return title !== null && event_type ? eventTitle({ event_type }, title) : title;
}
