import { isDatabaseDamage } from '../../databaseDamage.ts';
import { type ReadDatabase, statement } from './open.ts';

/**
 * What SQLite finds wrong with the database file, in its own words, at most so many lines; none where it is sound.
 * Reads all of the file: for a worker.
 */
export function integrityFindings(database: ReadDatabase, most: number): string[] {
  try {
    const rows = statement<{ integrity_check: string }>(database, `PRAGMA integrity_check(${most})`).all();
    const lines = rows.flatMap(({ integrity_check }) => integrity_check.split('\n'));
    return lines.filter((line) => line !== 'ok' && !line.startsWith('*** in database')).slice(0, most);
  } catch (error) {
    if (isDatabaseDamage(error)) return [error.message];
    throw error;
  }
}
