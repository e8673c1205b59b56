import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** A change of the node's key; `record` is what the ledger recorded. */
export interface KeyChangeRow {
  ledger_entry: number;
  type: 'key.renewed' | 'ledger.rolled_back';
  record: unknown;
}

interface Stored extends Omit<KeyChangeRow, 'record'> {
  record: string;
}

export function insertKeyChange(database: WriteDatabase, { ledger_entry, type, record }: KeyChangeRow): void {
  statement(database, 'INSERT INTO key_changes (ledger_entry, type, record) VALUES (?, ?, ?)').run(
    ledger_entry,
    type,
    JSON.stringify(record),
  );
}

/** Returns all changes of the key, in ledger order. There are very few. */
export function allKeyChanges(database: ReadDatabase): KeyChangeRow[] {
  // A database that was not yet migrated has no such table.
  const table = statement(database, "SELECT 1 FROM sqlite_schema WHERE name = 'key_changes'").get();
  if (table === undefined) return [];
  return fromStored(
    statement<Stored>(
      database,
      'SELECT ledger_entry, type, record FROM key_changes ORDER BY ledger_entry',
    ).all(),
  );
}

/** Returns a page of key changes, newest first, and their total number. */
export function keyChangesPage(
  database: ReadDatabase,
  { limit, offset }: { limit: number; offset: number },
): { items: KeyChangeRow[]; total: number } {
  const rows = statement<Stored>(
    database,
    'SELECT ledger_entry, type, record FROM key_changes ORDER BY ledger_entry DESC LIMIT ? OFFSET ?',
  ).all(limit, offset);
  const total = statement<{ total: number }>(database, 'SELECT count(*) AS total FROM key_changes').get();
  return { items: fromStored(rows), total: total?.total ?? 0 };
}

function fromStored(rows: readonly Stored[]): KeyChangeRow[] {
  return rows.map((row) => ({ ...row, record: JSON.parse(row.record) as unknown }));
}
