import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** Returns the value of a setting, or undefined if it was never set. */
export function readSetting(database: ReadDatabase, name: string): unknown {
  const row = statement<{ value: string }>(database, 'SELECT value FROM settings WHERE name = ?').get(name);
  return row === undefined ? undefined : JSON.parse(row.value);
}

export function deleteSetting(database: WriteDatabase, name: string): void {
  statement(database, 'DELETE FROM settings WHERE name = ?').run(name);
}

export function writeSetting(database: WriteDatabase, name: string, value: unknown): void {
  statement(
    database,
    'INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  ).run(name, JSON.stringify(value));
}
