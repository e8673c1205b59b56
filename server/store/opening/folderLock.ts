import { accessSync, constants, statSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type NodeEndpoint, nodeEndpointSchema } from '../../../shared/node/nodeEndpoint.ts';
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
