import { accessSync, constants, statSync } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type NodeEndpoint, nodeEndpointSchema } from '../../../shared/node/nodeEndpoint.ts';
import { Problem } from '../../../shared/problems.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { databaseFile, isMissing, orIfMissing } from '../files.ts';

/** Another node has the data folder open. */
export class FolderInUseError extends Error {
  constructor(folder: string) {
    super(
      `Another Strongroom has the data folder ${folder} open. Close it, or name another folder with --data.`,
    );
    this.name = 'FolderInUseError';
  }
}

/** The data folder cannot be written. */
class UnwritableFolderError extends Error {
  constructor(file: string, cause: unknown) {
    super(
      `Nothing can be written to ${file}. Give this account permission to write there, or name another folder with --data.`,
      { cause },
    );
    this.name = 'UnwritableFolderError';
  }
}

export interface FolderLock {
  /**
   * The identity of the lock file. Someone may remove the file while a node runs, and a second node would then lock a
   * new one. The database records the identity of its node's lock file; no new file can have the same identity as long
   * as that node runs.
   */
  id: string;
  release: () => void;
}

/**
 * Takes the lock of a data folder. It is SQLite's file lock on an empty database, so the system releases it when the
 * process ends, however it ends.
 *
 * @throws FolderInUseError if another process, or this one, holds it; UnwritableFolderError.
 */
export function lockFolder(folder: string): FolderLock {
  for (const file of [folder, databaseFile(folder)]) requireWritable(file);
  const file = join(folder, 'lock');
  const database = new Database(file, { timeout: 0 });
  try {
    database.pragma('journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) {
      throw new FolderInUseError(folder);
    }
    throw error;
  }
  const { dev, ino } = statSync(file, { bigint: true });
  return { id: `${dev}:${ino}`, release: () => void database.close() };
}

/** Waits this long for programs that read the database briefly. */
const BUSY_TIMEOUT_MS = 500;

/**
 * Checks that no process has the database open, by locking it exclusively. Used if the lock file is not the recorded
 * one. Changes no data, but SQLite copies a write-ahead log that nobody has open into the database.
 *
 * @throws FolderInUseError
 */
export function requireUnopened(folder: string): void {
  const database = new Database(databaseFile(folder), { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    database.pragma('locking_mode = EXCLUSIVE');
    database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get();
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY'))
      throw new FolderInUseError(folder);
    throw error;
  } finally {
    database.close();
  }
}

/** Fails early with a clear error: SQLite opens a read-only file and fails at the first write. */
function requireWritable(file: string): void {
  try {
    accessSync(file, constants.W_OK);
  } catch (error) {
    if (!isMissing(error)) throw new UnwritableFolderError(file, error);
  }
}

/** Writes the address the node listens on, for programs on the same machine; `undefined` removes it. */
export async function writeEndpointFile(folder: string, listening: NodeEndpoint | undefined): Promise<void> {
  const file = endpointFile(folder);
  if (listening === undefined) return rm(file, { force: true });
  // The rename makes the change atomic for readers.
  await writeFile(`${file}.new`, `${JSON.stringify(listening)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/**
 * Reads the address written by the node that has the folder open. After a crash the file is stale, so call this only
 * while the folder is in use.
 */
export async function readEndpointFile(folder: string): Promise<NodeEndpoint | undefined> {
  const text = await orIfMissing(readFile(endpointFile(folder), 'utf8'), undefined);
  return text === undefined ? undefined : nodeEndpointSchema.parse(JSON.parse(text));
}

function endpointFile(folder: string): string {
  return join(folder, 'listening');
}

/** Errors of a disk that is there and takes no more bytes, and of a process with too many open files. */
const SAYS_NOTHING = new Set<string | undefined>([
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  'EACCES',
  'EPERM',
  'EMFILE',
  'ENFILE',
]);

/**
 * Whether the data folder is still the one that was opened: its disk may be pulled out, or another one mounted in its place.
 * SQLite then goes on with its open files, and every other file is missing or another one.
 *
 * Once it was found to be away, it stays away for this opening, because what was done meanwhile may have seen no files. It is
 * opened again when it is back.
 */
export class FolderPresence {
  readonly #folder: string;
  readonly #id: string | undefined;
  #isAway = false;

  /** Call it right after the database was opened: no other file can have its identity then. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#id = identityOf(databaseFile(folder));
    // It vanished while it was opened.
    this.#isAway = this.#id === undefined;
  }

  /** Asks the file system, which takes microseconds. */
  get isAway(): boolean {
    return (this.#isAway ||= identityOf(databaseFile(this.#folder)) !== this.#id);
  }

  /** Why nothing may be written, or undefined. */
  readonly refusal = (): Problem | undefined => (this.isAway ? folderAway() : undefined);

  /**
   * Writes and removes a small file, after other writes have failed: the folder of a disk that was pulled out can stay
   * listed.
   */
  async tryWriting(): Promise<void> {
    const file = join(this.#folder, 'disk-test');
    let handle: FileHandle | undefined;
    try {
      handle = await open(file, 'w', 0o600);
      await handle.writeFile('test');
      await handle.sync();
    } catch (error) {
      this.#isAway ||= !SAYS_NOTHING.has(errorCode(error));
    } finally {
      // The disk is away or full; the file is replaced by the next test.
      await handle?.close().catch(() => {});
      await rm(file, { force: true }).catch(() => {});
    }
  }
}

/** The refusal of every request and every write while the disk of the data folder is away. */
export function folderAway(): Problem {
  return new Problem(
    'data_folder_away',
    'Connect the disk with the data folder of this archive again, and Strongroom continues by itself. What was acknowledged is on that disk, and nothing is written anywhere else.',
    { headers: { 'Retry-After': '2' } },
  );
}

function identityOf(file: string): string | undefined {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    return found && `${found.dev}:${found.ino}`;
  } catch {
    // A disk that was pulled out can answer with any error.
    return undefined;
  }
}
