import { isDatabaseDamage } from '../../databaseDamage.ts';
import { type ReadDatabase, statement } from './open.ts';

/**
 * Runs SQLite's integrity check and a check for references to missing rows. Returns at most `most` findings, none for
 * an intact database. Reads the whole file, so call it in a worker.
 */
export function integrityFindings(database: ReadDatabase, most: number): string[] {
  try {
    const rows = statement<{ integrity_check: string }>(database, `PRAGMA integrity_check(${most})`).all();
    const lines = rows.flatMap(({ integrity_check }) => integrity_check.split('\n'));
    const found = lines.filter((line) => line !== 'ok' && !line.startsWith('*** in database'));
    return (found.length > 0 ? found : missingRows(database)).slice(0, most);
  } catch (error) {
    if (isDatabaseDamage(error)) return [error.message];
    throw error;
  }
}

/** Finds references to missing rows. A blob without its row is not served and looks unreferenced. */
function missingRows(database: ReadDatabase): string[] {
  const broken = statement<{ table: string; parent: string; rows: number }>(
    database,
    'SELECT "table", parent, count(*) AS rows FROM pragma_foreign_key_check GROUP BY "table", parent',
  ).all();
  const unnamed = statement<{ rows: number }>(
    database,
    `SELECT count(*) AS rows FROM retrievals r WHERE sha256 IS NOT NULL
     AND NOT EXISTS (SELECT 1 FROM objects o WHERE o.sha256 = r.sha256)`,
  ).get();
  const objects = { table: 'retrievals', parent: 'objects', rows: unnamed?.rows ?? 0 };
  return [...broken, objects]
    .filter(({ rows }) => rows > 0)
    .map(({ table, parent, rows }) => `rows missing in ${parent} that ${table} refers to: ${rows}`);
}
