import { readdirSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { databaseFile, syncFile, syncFolder } from '../files.ts';
import { databaseSchemaVersion, needsMigration } from '../sqlite/engine/migrate.ts';
import { openForReading } from '../sqlite/engine/open.ts';
import type { FreeBytes } from './reserve.ts';

/** The disk has no room for a copy of the database, without which its schema is not changed. */
class NoRoomForCopyError extends Error {
  constructor(folder: string, needed: number, free: number) {
    super(
      `This version of Strongroom changes the database in ${folder}, and first keeps a copy of it. The copy needs ${megabytes(needed)} MB, and ${megabytes(free)} MB are free. Free some space and start again, or open the archive with the earlier version. Nothing was changed.`,
    );
    this.name = 'NoRoomForCopyError';
  }
}

/** The pages (of 4 KB) that are copied in one turn of the event loop. */
const PAGES_AT_ONCE = 1_000;

/**
 * Keeps a copy of a database whose schema is about to be changed, as `strongroom.db.before-<schema>`. It is one file, with
 * what is in the write-ahead log, and on stable storage when this resolves. Nobody may write to the database meanwhile.
 *
 * @throws NoRoomForCopyError; nothing was changed then. Also the errors of SQLite and of the file system.
 */
export async function keepEarlierDatabase(folder: string, freeBytes: FreeBytes): Promise<void> {
  const file = databaseFile(folder);
  const database = openForReading(file);
  try {
    if (!needsMigration(database)) return;
    const kept = `${keptPrefix(folder)}${databaseSchemaVersion(database)}`;
    const partial = `${kept}.partial`;
    // What a killed start left takes the room that this copy needs.
    await rm(partial, { force: true });
    const needed = statSync(file).size + (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0);
    if (freeBytes() < needed) throw new NoRoomForCopyError(folder, needed, freeBytes());
    try {
      await database.backup(partial, { progress: () => PAGES_AT_ONCE });
      await syncFile(partial);
      await rename(partial, kept);
      await syncFolder(folder);
    } finally {
      // SQLite leaves the file and its journal if the copy fails.
      for (const left of [partial, `${partial}-journal`]) await rm(left, { force: true });
    }
  } finally {
    database.close();
  }
}

/** Returns the names of the kept copies in a data folder. */
export function keptDatabases(folder: string): string[] {
  const prefix = basename(keptPrefix(folder));
  return readdirSync(folder).filter((name) => name.startsWith(prefix));
}

/** Removes the kept copies, once an audit has found that the changed database has everything. */
export async function removeKeptDatabases(folder: string): Promise<void> {
  for (const name of keptDatabases(folder)) await rm(join(folder, name), { force: true });
}

function keptPrefix(folder: string): string {
  return `${databaseFile(folder)}.before-`;
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}
