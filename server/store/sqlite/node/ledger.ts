import type { LedgerEntry } from '../../../../shared/ledger/ledger.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

export function insertEntry(database: WriteDatabase, entry: LedgerEntry): void {
  statement(
    database,
    'INSERT INTO ledger (seq, at, type, subject, digest, prev, hash) VALUES (?, ?, ?, ?, ?, ?, ?)',
  ).run(entry.seq, entry.at, entry.type, entry.subject, entry.digest, entry.prev, entry.hash);
}

export function lastEntry(database: ReadDatabase): LedgerEntry | undefined {
  return statement<LedgerEntry>(database, 'SELECT * FROM ledger ORDER BY seq DESC LIMIT 1').get();
}

export function entryAt(database: ReadDatabase, seq: number): LedgerEntry | undefined {
  return statement<LedgerEntry>(database, 'SELECT * FROM ledger WHERE seq = ?').get(seq);
}

/** Returns the entries `from` to `from + limit - 1`, in order. */
export function entriesFrom(database: ReadDatabase, from: number, limit: number): LedgerEntry[] {
  return statement<LedgerEntry>(database, 'SELECT * FROM ledger WHERE seq >= ? ORDER BY seq LIMIT ?').all(
    from,
    limit,
  );
}

/** The number of rows fetched in one call. This is a third faster than fetching one at a time. */
const PAGE = 500;

/** Iterates over all entries in order, including ones with invalid numbers. Call it in a transaction for one snapshot. */
export function* iterateEntries(database: ReadDatabase): Generator<LedgerEntry, void> {
  for (let from = Number.MIN_SAFE_INTEGER; ; ) {
    const entries = entriesFrom(database, from, PAGE);
    yield* entries;
    const last = entries.at(-1);
    if (last === undefined || entries.length < PAGE) return;
    from = last.seq + 1;
  }
}

export function insertTile(database: WriteDatabase, level: number, position: number, hash: Buffer): void {
  statement(database, 'INSERT INTO tiles (level, position, hash) VALUES (?, ?, ?)').run(
    level,
    position,
    hash,
  );
}

/** Returns the hashes of the tiles `from` to `to - 1` of a level, in order. */
export function tileHashes(database: ReadDatabase, level: number, from: number, to: number): Buffer[] {
  return statement<{ hash: Buffer }>(
    database,
    'SELECT hash FROM tiles WHERE level = ? AND position >= ? AND position < ? ORDER BY position',
  )
    .all(level, from, to)
    .map(({ hash }) => hash);
}
