import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** A change of the node's key as it is kept: what the ledger recorded of it is JSON. */
export interface KeyChangeRow {
  ledger_entry: number;
  type: 'key.renewed' | 'ledger.rolled_back';
  record: unknown;
}

interface Kept extends Omit<KeyChangeRow, 'record'> {
  record: string;
}

export function insertKeyChange(database: WriteDatabase, { ledger_entry, type, record }: KeyChangeRow): void {
  statement(database, 'INSERT INTO key_changes (ledger_entry, type, record) VALUES (?, ?, ?)').run(
    ledger_entry,
    type,
    JSON.stringify(record),
  );
}

/** Every change of the key, in the order of the ledger: there are a few at the most. */
export function allKeyChanges(database: ReadDatabase): KeyChangeRow[] {
  // Also asked of a database that an older version made and none has opened since.
  const table = statement(database, "SELECT 1 FROM sqlite_schema WHERE name = 'key_changes'").get();
  if (table === undefined) return [];
  return parsed(
    statement<Kept>(
      database,
      'SELECT ledger_entry, type, record FROM key_changes ORDER BY ledger_entry',
    ).all(),
  );
}

/** A page of them, newest first, and how many there are. */
export function keyChangesPage(
  database: ReadDatabase,
  { limit, offset }: { limit: number; offset: number },
): { items: KeyChangeRow[]; total: number } {
  const rows = statement<Kept>(
    database,
    'SELECT ledger_entry, type, record FROM key_changes ORDER BY ledger_entry DESC LIMIT ? OFFSET ?',
  ).all(limit, offset);
  const total = statement<{ total: number }>(database, 'SELECT count(*) AS total FROM key_changes').get();
  return { items: parsed(rows), total: total?.total ?? 0 };
}

function parsed(rows: readonly Kept[]): KeyChangeRow[] {
  return rows.map((row) => ({ ...row, record: JSON.parse(row.record) as unknown }));
}
