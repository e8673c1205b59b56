import {
  closeSync,
  type Dirent,
  existsSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { databaseFile, isMissing } from '../files.ts';
import { databaseSchemaVersion, requireKnownSchema } from '../sqlite/engine/migrate.ts';
import { openForReading, type ReadDatabase, type WriteDatabase } from '../sqlite/engine/open.ts';
import { entryAt, lastEntry } from '../sqlite/node/ledger.ts';
import { readSetting } from '../sqlite/node/owner.ts';
import { isDatabaseDamage } from '../storageErrors.ts';
import { headFile, type RecordedHead, readHeadFile } from './headFile.ts';

/** The database lacks something that the node acknowledged, or has something else in its place. */
export class RollbackDetectedError extends Error {
  /** What is wrong, as the rest of a sentence. */
  readonly reason: string;

  constructor(folder: string, reason: string) {
    super(
      `The database in ${folder} is older than this archive, or another one: ${reason} Restore the newest strongroom.db and strongroom.db-wal. If they are lost, “strongroom serve --accept-rollback” continues with this database under a new key and records the rollback.`,
    );
    this.name = 'RollbackDetectedError';
    this.reason = reason;
  }
}

/** The result of checking a folder before it is changed. */
export interface OpeningDecision {
  /** Whether the database is known to hold everything that was acknowledged. Only then can leftovers be identified. */
  isComplete: boolean;
  /** A change to run in its own transaction right after the migrations, before anything else. */
  change?: ((database: WriteDatabase) => void) | undefined;
}

/** A data folder with its database open for reading only. */
export interface InspectedFolder {
  folder: string;
  read: ReadDatabase;
  /** Whether the database has any table yet. */
  hasTables: boolean;
}

/**
 * Checks an archive before anything in its folder is created, changed, renamed or removed. The archive is not opened if
 * it throws. The connection is closed when it ends.
 */
export type OpeningCheck = (inspected: InspectedFolder) => Promise<OpeningDecision>;

export interface FolderInspection extends OpeningDecision {
  /** The lock file of the last node that opened the folder; see `FolderLock`. */
  lockId: string | undefined;
  isNew: boolean;
}

/** The setting that holds the identity of the node's lock file. */
export const LOCK_SETTING = 'lock_file';

/**
 * Inspects a data folder without changing it. A read-only connection copies nothing from the write-ahead log into the
 * database and leaves the log in place.
 *
 * @throws MissingDatabaseError, what `withReadOnlyDatabase` throws, and the errors of `check`
 */
export async function inspectFolder(folder: string, check: OpeningCheck): Promise<FolderInspection> {
  if (!hasDatabase(folder)) return { isComplete: true, lockId: undefined, isNew: true };
  const file = databaseFile(folder);
  const absent = [`${file}-shm`, `${file}-wal`].filter((each) => !existsSync(each));
  try {
    return await withReadOnlyDatabase(folder, async (inspected) => {
      const decision = await check(inspected);
      if (!inspected.hasTables && !decision.change) requireNothingStored(folder);
      const lockId = inspected.hasTables ? readSetting(inspected.read, LOCK_SETTING) : undefined;
      return { ...decision, lockId: typeof lockId === 'string' ? lockId : undefined, isNew: false };
    });
  } catch (error) {
    // SQLite creates both files, empty, when it reads a database that has none. They are removed again.
    if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0)
      for (const each of absent) rmSync(each, { force: true });
    throw error;
  }
}

/**
 * Runs `look` with a read-only connection to the folder's database.
 *
 * @throws DamagedDatabaseError, NewerDatabaseError, UnreleasedDatabaseError
 */
export async function withReadOnlyDatabase<Result>(
  folder: string,
  look: (inspected: InspectedFolder) => Promise<Result>,
): Promise<Result> {
  const file = databaseFile(folder);
  try {
    const read = openForReading(file);
    try {
      requireKnownSchema(read);
      return await look({ folder, read, hasTables: databaseSchemaVersion(read) > 0 });
    } finally {
      read.close();
    }
  } catch (error) {
    throw asDamagedDatabaseError(file, error);
  }
}

/**
 * Refuses a database that has no tables although blobs are stored, as `examine` does, for callers that only read. An
 * unreadable database is left to the caller.
 *
 * @throws MissingDatabaseError
 */
export async function requireTables(folder: string): Promise<void> {
  try {
    await withReadOnlyDatabase(folder, async ({ hasTables }) => {
      if (!hasTables) requireNothingStored(folder);
    });
  } catch (error) {
    if (!(error instanceof DamagedDatabaseError)) throw error;
  }
}

/** Whether the folder's database passes SQLite's quick check. */
export async function isReadable(folder: string): Promise<boolean> {
  try {
    return await withReadOnlyDatabase(
      folder,
      async ({ read }) => read.pragma('quick_check(1)', { simple: true }) === 'ok',
    );
  } catch (error) {
    if (error instanceof DamagedDatabaseError) return false;
    throw error;
  }
}

/** Converts SQLite's errors for a damaged file to a DamagedDatabaseError; returns any other error unchanged. */
export function asDamagedDatabaseError(file: string, error: unknown): unknown {
  return isDatabaseDamage(error) ? new DamagedDatabaseError(file, error) : error;
}

/** Returns why the ledger does not contain the recorded head, as the rest of a sentence; undefined if it does. */
export function describeRollback(
  { read, hasTables }: Omit<InspectedFolder, 'folder'>,
  head: RecordedHead,
): string | undefined {
  if (head.seq === 0) return undefined;
  const size = hasTables ? (lastEntry(read)?.seq ?? 0) : 0;
  if (size < head.seq) return `its ledger ends with entry ${size}, but entry ${head.seq} was acknowledged.`;
  if (entryAt(read, head.seq)?.hash === head.hash) return undefined;
  return `its entry ${head.seq} is not the one that was acknowledged.`;
}

/** Compares the database with the head file alone, without key and checkpoints. */
export const checkHead: OpeningCheck = (inspected) => {
  const head = readHeadFile(inspected.folder);
  const reason = head && describeRollback(inspected, head);
  if (reason) return Promise.reject(new RollbackDetectedError(inspected.folder, reason));
  return Promise.resolve({ isComplete: head !== undefined });
};

/** The folder has no usable database, but other files of an archive. */
export class MissingDatabaseError extends Error {
  constructor(folder: string, what: string, found: readonly string[]) {
    super(
      `${what} in ${folder}, but other files of an archive are there: ${found.join(', ')}. Restore strongroom.db from a backup, or rebuild it from the newest dump and the stored bytes with “strongroom rebuild ${folder}” (or “serve --rebuild”). Nothing was changed.`,
    );
    this.name = 'MissingDatabaseError';
  }
}

/** SQLite cannot read the database. */
export class DamagedDatabaseError extends Error {
  constructor(file: string, cause: unknown) {
    super(
      `The database ${file} is damaged (${cause instanceof Error ? cause.message : String(cause)}). Restore it from a backup, or rebuild it from the newest dump and the stored bytes with “strongroom rebuild”.`,
      { cause },
    );
    this.name = 'DamagedDatabaseError';
  }
}

const SQLITE_HEADER = 'SQLite format 3\0';

/**
 * Returns true if a data folder holds a database, and false if a new archive may be created there. Changes nothing.
 *
 * @throws MissingDatabaseError if there is no database but other files of an archive
 */
export function hasDatabase(folder: string): boolean {
  const file = databaseFile(folder);
  const header = readHeader(file);
  if (header === SQLITE_HEADER) return true;
  const found = archiveFiles(folder);
  // The disk may have come back between the two looks.
  if (header === undefined && found.length > 0 && readHeader(file) === SQLITE_HEADER) return true;
  if (header) {
    throw new MissingDatabaseError(folder, `The file ${basename(file)} is not a database`, [
      basename(file),
      ...found,
    ]);
  }
  // A killed first start may leave an empty database file, and nothing else of an archive.
  if (found.length === 0) return false;
  const what = header === undefined ? 'There is no database' : 'There is only an empty database file';
  throw new MissingDatabaseError(folder, what, found);
}

/**
 * Checks a folder whose database has no tables. A first start creates the tables before it stores any blob.
 *
 * @throws MissingDatabaseError if blobs are stored: the write-ahead log was lost, or the file is from another archive
 */
function requireNothingStored(folder: string): void {
  const found = archiveFiles(folder);
  if (found.some((each) => each.endsWith('/')))
    throw new MissingDatabaseError(folder, 'There is only a database without tables', found);
}

/** Reads the first bytes of a file, as many as SQLite's header has; undefined if there is no file. */
function readHeader(file: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    const bytes = Buffer.alloc(SQLITE_HEADER.length);
    return bytes.toString('latin1', 0, readSync(descriptor, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(descriptor);
  }
}

/** The names of the files and folders that only an archive has, without the database. */
function archiveFiles(folder: string): string[] {
  const files = [
    join(folder, 'key'),
    join(folder, 'key.next'),
    headFile(folder),
    join(folder, 'checkpoint'),
  ].filter((file) => existsSync(file));
  const log = `${databaseFile(folder)}-wal`;
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) > 0) files.push(log);
  const folders = [join(folder, 'blobs'), join(folder, 'lost-and-found')];
  return [
    ...files.map((file) => basename(file)),
    ...folders.filter(holdsFile).map((each) => `${basename(each)}/`),
  ];
}

function holdsFile(folder: string): boolean {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
  return entries.some((entry) => !entry.isDirectory() || holdsFile(join(folder, entry.name)));
}
