import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { MIGRATIONS, migrate } from '../../server/store/sqlite/engine/migrate.ts';
import { openForWriting } from '../../server/store/sqlite/engine/open.ts';

/**
 * Makes the database of a closed archive one of an earlier schema, with the rows for which that has tables and columns. The
 * indexes of words stay empty.
 *
 * @param change SQL that is run on it at the end
 */
export async function giveOlderSchema(dataFolder: string, number: number, change: string): Promise<void> {
  const file = join(dataFolder, 'strongroom.db');
  const newer = join(dataFolder, 'newer.db');
  await rename(file, newer);
  const database = openForWriting(file);
  try {
    migrate(
      database,
      MIGRATIONS.filter((migration) => migration.number <= number),
    );
    database.pragma('foreign_keys = OFF');
    database.prepare('ATTACH ? AS newer').run(newer);
    const named = (type: string) =>
      database
        .prepare<[string], { name: string; sql: string }>(
          `SELECT name, sql FROM main.sqlite_schema WHERE type = ? AND name NOT LIKE 'sqlite_%'
           AND sql NOT LIKE 'CREATE VIRTUAL %'
           AND NOT EXISTS (SELECT 1 FROM main.sqlite_schema v
             WHERE v.sql LIKE 'CREATE VIRTUAL %' AND sqlite_schema.name LIKE v.name || '_%')`,
        )
        .all(type);
    const triggers = named('trigger');
    for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`);
    for (const { name } of named('table')) {
      const columnsOf = (schema: string) =>
        (database.pragma(`${schema}.table_info(${name})`) as { name: string }[]).map((column) => column.name);
      const known = new Set(columnsOf('newer'));
      // A later version keeps something else there.
      if (!columnsOf('main').every((column) => known.has(column))) continue;
      const columns = columnsOf('main').join(', ');
      database.exec(`INSERT OR REPLACE INTO main.${name} (${columns}) SELECT ${columns} FROM newer.${name}`);
    }
    for (const { sql } of triggers) database.exec(sql);
    database.exec(change);
    database.exec('DETACH newer');
  } finally {
    database.close();
  }
  await rm(newer);
}
