import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Problem } from '../../../shared/problems.ts';
import { databaseFile, syncFile, syncFolder } from '../files.ts';
import { databaseSchemaVersion, migrate, needsMigration } from '../sqlite/engine/migrate.ts';
import {
  openForReading,
  openForWriting,
  type ReadDatabase,
  type WriteDatabase,
} from '../sqlite/engine/open.ts';
import { Checkpointer, DurableCommit, type WriteAheadLog } from '../sqlite/engine/writeAheadLog.ts';
import { Writer } from '../sqlite/engine/writer.ts';
import { type FolderLock, requireUnopened } from './folderLock.ts';
import type { Warn } from './headFile.ts';
import { type FolderInspection, inspectFolder, type OpeningCheck } from './inspectFolder.ts';

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

/** The space that SQLite and a node need to open an archive: the index of the log and a few small files. */
const RESERVE_BYTES = 1_048_576;

/** Returns the free bytes on the data folder's disk, for this user. */
type FreeBytes = () => number;

/**
 * A file that reserves disk space. On a full disk not even a reader can open an SQLite database whose log has no index
 * yet. The file is then deleted, so that the archive can be read. Nothing is written until the disk has space to create
 * it again; otherwise the freed space would be used up and the next start would fail.
 */
export class Reserve {
  readonly #folder: string;
  readonly #freeBytes: FreeBytes;
  readonly #warn: (error: unknown) => void;
  #isHeld: boolean;
  #making: Promise<void> | undefined;

  /** @param warn is called if the file cannot be created although there is space. */
  constructor(folder: string, freeBytes: FreeBytes, warn: (error: unknown) => void) {
    this.#folder = folder;
    this.#freeBytes = freeBytes;
    this.#warn = warn;
    this.#isHeld = existsSync(reserveFile(folder));
  }

  /** Creates the file if it is missing and there is space; returns whether it exists or is being created. */
  readonly hold = (): boolean => {
    if (this.#isHeld || this.#making) return true;
    if (this.#freeBytes() < 2 * RESERVE_BYTES) return false;
    this.#making = this.#make()
      .catch((error: unknown) => {
        // There was space, so the cause is something else. Writing goes on without the reserve.
        this.#isHeld = true;
        this.#warn(error);
      })
      .finally(() => (this.#making = undefined));
    return true;
  };

  /** The free bytes without those that this file needs, whether or not it exists. */
  readonly freeBytes: FreeBytes = () =>
    this.hold() ? this.#freeBytes() : Math.max(0, this.#freeBytes() - RESERVE_BYTES);

  /** Returns why nothing may be written, or undefined. */
  readonly refusal = (): Problem | undefined => {
    if (this.hold()) return undefined;
    return new Problem(
      'disk_nearly_full',
      'The disk is full, so the archive can only be read. Free some space; writing then resumes automatically.',
    );
  };

  async #make(): Promise<void> {
    const temporary = `${reserveFile(this.#folder)}.tmp`;
    try {
      const handle = await open(temporary, 'w', 0o600);
      try {
        // Random bytes, because a file system could compress others.
        await handle.writeFile(randomBytes(RESERVE_BYTES));
        await handle.datasync();
      } finally {
        await handle.close();
      }
      await rename(temporary, reserveFile(this.#folder));
      this.#isHeld = true;
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#making;
  }
}

/** Deletes the reserve file if the disk has too little space to open an archive. */
export function releaseReserve(folder: string, freeBytes: FreeBytes): void {
  if (freeBytes() < RESERVE_BYTES) rmSync(reserveFile(folder), { force: true });
}

function reserveFile(folder: string): string {
  return join(folder, 'reserve');
}
