import { existsSync, rmSync } from 'node:fs';
import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MIGRATIONS } from '../../server/store/sqlite/engine/migrate.ts';
import type { Migration } from '../../server/store/sqlite/engine/migration.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';

let migrated: Promise<string> | undefined;

/**
 * Gives a data folder that does not exist a database with its tables and no rows: a copy of one that is made once for each
 * process, because the migrations take longer than everything else that opens a node.
 */
export async function createDataFolder(folder: string): Promise<void> {
  if (existsSync(folder)) return;
  migrated ??= (async () => {
    const template = await mkdtemp(join(tmpdir(), 'strongroom-migrated-'));
    process.once('exit', () => rmSync(template, { recursive: true, force: true }));
    await (await openStore({ folder: template, clock: systemClock })).close();
    return template;
  })();
  await cp(await migrated, folder, { recursive: true });
}

const open: Store[] = [];

/** Opens the store in a data folder, without a node. */
export async function openTestStore(folder: string): Promise<Store> {
  await createDataFolder(folder);
  const store = await openStore({ folder, clock: systemClock });
  open.push(store);
  return store;
}

/** Closes the stores that are open. */
export async function closeTestStores(): Promise<void> {
  for (const store of open.splice(0)) await store.close();
}

/**
 * Makes this process a later version, which has one more migration. The returned function makes it the earlier one again.
 */
export function addMigration(sql: string): { number: number; remove: () => void } {
  const migrations = MIGRATIONS as Migration[];
  const number = (migrations.at(-1)?.number ?? 0) + 1;
  migrations.push({ number, sql });
  return { number, remove: () => void migrations.pop() };
}
