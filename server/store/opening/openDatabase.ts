import type { Problem } from '../../../shared/problems.ts';
import { databaseFile } from '../files.ts';
import { Checkpointer } from '../sqlite/engine/checkpointer.ts';
import { migrate } from '../sqlite/engine/migrate.ts';
import {
  openForReading,
  openForWriting,
  type ReadDatabase,
  type WriteDatabase,
} from '../sqlite/engine/open.ts';
import { DurableCommit, type WriteAheadLog } from '../sqlite/engine/writeAheadLog.ts';
import { Writer } from '../sqlite/engine/writer.ts';
import { type FolderLock, requireUnopened } from './folderLock.ts';
import type { Warn } from './headFile.ts';
import { type FolderInspection, inspectFolder, type OpeningCheck } from './inspectFolder.ts';
import { keepEarlierDatabase } from './keptDatabase.ts';
import type { FreeBytes } from './reserve.ts';

/** The database of a data folder, and what its inspection found before it was opened. */
interface OpenedDatabase {
  database: WriteDatabase;
  read: ReadDatabase;
  inspection: FolderInspection;
}

interface OpeningSteps {
  check: OpeningCheck;
  lock: FolderLock;
  opened: OpenedResources;
  freeBytes: FreeBytes;
  mustExist: boolean | undefined;
}

/**
 * Inspects a locked data folder. Only then opens its database, migrates the schema, and makes the change that the check
 * asked for. A copy of the database is kept before its schema is changed.
 *
 * @throws what `inspectFolder`, `requireUnopened` and `keepEarlierDatabase` throw; nothing was changed then. Also the
 * errors of SQLite.
 */
export async function openDatabase(
  folder: string,
  { check, lock, opened, freeBytes, mustExist }: OpeningSteps,
): Promise<OpenedDatabase> {
  const inspection = await inspectFolder(folder, check);
  const { isNew, change, lockId } = inspection;
  if (isNew && mustExist) throw new Error(`There is no database in ${folder}.`);
  if (!isNew && lockId !== lock.id) requireUnopened(folder);
  if (!isNew) await keepEarlierDatabase(folder, freeBytes);
  const database = opened.add(openForWriting(databaseFile(folder), { isNew }), (connection) =>
    connection.close(),
  );
  migrate(database);
  if (change) database.transaction(change).immediate(database);
  const read = opened.add(openForReading(databaseFile(folder)), (connection) => connection.close());
  return { database, read, inspection };
}

interface Connections {
  folder: string;
  database: WriteDatabase;
  read: ReadDatabase;
  log: WriteAheadLog;
}

/** Opens the writer, and the checkpoints that follow its commits. */
export function openWriter(
  { folder, database, read, log }: Connections,
  { refusal, onDurable, warn }: { refusal: () => Problem | undefined; onDurable: () => void; warn: Warn },
) {
  const checkpointer = new Checkpointer(databaseFile(folder), (error) =>
    warn({ error }, 'The write-ahead log could not be checkpointed.'),
  );
  const writer = new Writer(database, new DurableCommit(database, read, log), {
    whenReady: () => checkpointer.whenReady(),
    refusal,
    onDurable,
    warn: (error, message) => warn({ error }, message),
  });
  writer.onCommit(checkpointer.committed);
  return { writer, checkpointer };
}

/** What was opened so far. It is closed in reverse order, also if a later step of the opening fails. */
export class OpenedResources {
  readonly #closers: (() => void)[] = [];

  /** Adds something that was opened and returns it. */
  add<Resource>(resource: Resource, close: (resource: Resource) => void): Resource {
    this.#closers.push(() => close(resource));
    return resource;
  }

  /**
   * @param isAway whether the folder is not there any more. The last connection that may write removes the write-ahead log by
   * its name, which may be that of a copy on another disk by now. Closed in order, the last connection only reads.
   * @throws the first error, once everything was closed
   */
  closeAll({ isAway = false } = {}): void {
    const closers = this.#closers.splice(0);
    const errors: unknown[] = [];
    for (const close of isAway ? closers : closers.reverse()) {
      try {
        close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
