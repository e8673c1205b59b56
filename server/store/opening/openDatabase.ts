import { databaseFile } from '../blobs/paths.ts';
import { migrate } from '../sqlite/engine/migrate.ts';
import {
  openForReading,
  openForWriting,
  type ReadDatabase,
  type WriteDatabase,
} from '../sqlite/engine/open.ts';
import { type FolderLock, requireUnopened } from './folderLock.ts';
import { type FolderInspection, inspectFolder, type OpeningCheck } from './inspectFolder.ts';
import type { OpenedResources } from './openedResources.ts';

/** The database of a data folder, and what its inspection found before it was opened. */
export interface OpenedDatabase {
  database: WriteDatabase;
  read: ReadDatabase;
  inspection: FolderInspection;
}

/**
 * Inspects a locked data folder. Only then opens its database, migrates the schema, and makes the change that the check
 * asked for.
 *
 * @throws what `inspectFolder` and `requireUnopened` throw; nothing was changed then. Also the errors of SQLite.
 */
export async function openDatabase(
  folder: string,
  { check, lock, opened }: { check: OpeningCheck; lock: FolderLock; opened: OpenedResources },
): Promise<OpenedDatabase> {
  const inspection = await inspectFolder(folder, check);
  const { isNew, change, lockId } = inspection;
  if (!isNew && lockId !== lock.id) requireUnopened(folder);
  const database = opened.add(openForWriting(databaseFile(folder)), (connection) => connection.close());
  migrate(database);
  if (change) database.transaction(change).immediate(database);
  const read = opened.add(openForReading(databaseFile(folder)), (connection) => connection.close());
  return { database, read, inspection };
}
