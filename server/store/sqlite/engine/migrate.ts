import { VERSION } from '../../../../shared/version.ts';
import { BASELINE, BASELINE_NUMBER } from '../schema/baseline.ts';
import { TIES_OF_PARTS } from '../schema/tiesOfParts.ts';
import type { Migration } from './migration.ts';
import type { ReadDatabase, WriteDatabase } from './open.ts';
import { one, run } from './queries.ts';

/** The baseline, and the migrations that lead from it to the schema of this version, in the order of their numbers. */
export const MIGRATIONS: readonly Migration[] = [BASELINE, TIES_OF_PARTS];

/** The database has another schema than this program, which only reads it and cannot migrate it. */
export class SchemaMismatchError extends Error {
  constructor(
    message = 'The database in this data folder belongs to another version of Strongroom. Close any node that has it open, then open it once with this version.',
  ) {
    super(message);
    this.name = 'SchemaMismatchError';
  }
}

/** The database was written by a newer Strongroom than this one. */
export class NewerDatabaseError extends SchemaMismatchError {
  constructor(found: number, known: number, writtenBy: string | undefined) {
    const needed =
      writtenBy === undefined
        ? 'The database does not record which version that was: install the newest one.'
        : `Install version ${writtenBy} or a newer one.`;
    super(
      `This data folder was written by a newer Strongroom: its database has schema ${found}, and this is version ${VERSION}, which supports schema ${known}. ${needed} Nothing was changed.`,
    );
    this.name = 'NewerDatabaseError';
  }
}

/** The version whose folders no later one opens: the last that had a schema from before the baseline. */
const LAST_BEFORE_BASELINE = '0.1.0';

/** The database has a schema from before the first release, which this program cannot migrate. */
export class UnreleasedDatabaseError extends SchemaMismatchError {
  constructor(found: number) {
    super(
      `This data folder is from before the first release (its database has schema ${found}) and was not changed: to bring its contents into a new data folder, export it with version ${LAST_BEFORE_BASELINE} (“strongroom export”) and import the file with this version (“strongroom import”).`,
    );
    this.name = 'UnreleasedDatabaseError';
  }
}

/** Returns the number of the last migration applied to a database; 0 if it has no tables yet. */
export function databaseSchemaVersion(database: ReadDatabase): number {
  return database.pragma('user_version', { simple: true }) as number;
}

/**
 * @throws NewerDatabaseError, UnreleasedDatabaseError if this program can neither use nor migrate the database
 */
export function requireKnownSchema(
  database: ReadDatabase,
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  const known = migrations.at(-1)?.number ?? 0;
  const found = databaseSchemaVersion(database);
  if (found > known) throw new NewerDatabaseError(found, known, lastMigratedBy(database));
  if (found > 0 && found < BASELINE_NUMBER) throw new UnreleasedDatabaseError(found);
}

/** The setting with the version of the program that last changed the schema. */
const MIGRATED_BY = 'migrated_by';

/** Returns that version; undefined if none is recorded. */
function lastMigratedBy(database: ReadDatabase): string | undefined {
  // A newer program may keep its settings elsewhere.
  const table = one(database, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'settings'");
  if (!table) return undefined;
  const row = one<{ value: string }>(database, 'SELECT value FROM settings WHERE name = ?', MIGRATED_BY);
  const version: unknown = row && JSON.parse(row.value);
  return typeof version === 'string' && /^[\w.+-]{1,40}$/.test(version) ? version : undefined;
}

/** Whether `migrate` would change a database that already has tables. */
export function needsMigration(database: ReadDatabase): boolean {
  const found = databaseSchemaVersion(database);
  return found > 0 && found < (MIGRATIONS.at(-1)?.number ?? 0);
}

/** @throws SchemaMismatchError if the database has another schema than this program */
export function requireCurrentSchema(database: ReadDatabase): void {
  requireKnownSchema(database);
  if (databaseSchemaVersion(database) !== MIGRATIONS.at(-1)?.number) throw new SchemaMismatchError();
}

/**
 * Applies the missing migrations: all in one transaction for a new database, otherwise each in its own. After a crash
 * between two migrations, the next start continues. Each records the version of this program, so that an older one can
 * say which it needs.
 *
 * @throws NewerDatabaseError, UnreleasedDatabaseError; nothing is changed then
 */
export function migrate(database: WriteDatabase, migrations: readonly Migration[] = MIGRATIONS): void {
  requireKnownSchema(database, migrations);
  const found = databaseSchemaVersion(database);
  const missing = migrations.filter(({ number }) => number > found);
  for (const steps of found === 0 ? [missing] : missing.map((step) => [step])) {
    database
      .transaction(() => {
        for (const { number, sql } of steps) {
          database.exec(sql);
          database.pragma(`user_version = ${number}`);
        }
        run(
          database,
          'INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
          MIGRATED_BY,
          JSON.stringify(VERSION),
        );
      })
      .immediate();
  }
}
