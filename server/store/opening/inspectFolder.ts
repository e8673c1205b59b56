import { existsSync, rmSync, statSync } from 'node:fs';
import { databaseFile } from '../blobs/paths.ts';
import { isDatabaseDamage } from '../databaseDamage.ts';
import { databaseSchemaVersion, requireKnownSchema } from '../sqlite/engine/migrate.ts';
import { openForReading, type ReadDatabase, type WriteDatabase } from '../sqlite/engine/open.ts';
import { entryAt, lastEntry } from '../sqlite/node/ledger.ts';
import { readSetting } from '../sqlite/node/settings.ts';
import { DamagedDatabaseError, hasDatabase, requireNothingStored } from './existingArchive.ts';
import { type RecordedHead, readHeadFile } from './headFile.ts';

/** The database lacks something that the node acknowledged, or has something else in its place. */
export class RollbackDetectedError extends Error {
  /** What is wrong, as the rest of a sentence. */
  readonly reason: string;

  constructor(folder: string, reason: string) {
    super(
      `The database in ${folder} is older than this archive, or another one: ${reason} Put the newest strongroom.db and strongroom.db-wal back. If they are lost, “strongroom serve --accept-rollback” continues with this database under a new key and records the rollback.`,
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
 * @throws MissingDatabaseError, DamagedDatabaseError, NewerDatabaseError, and the errors of `check`
 */
export async function inspectFolder(folder: string, check: OpeningCheck): Promise<FolderInspection> {
  if (!hasDatabase(folder)) return { isComplete: true, lockId: undefined, isNew: true };
  const file = databaseFile(folder);
  const absent = [`${file}-shm`, `${file}-wal`].filter((each) => !existsSync(each));
  try {
    return await withReadOnlyDatabase(folder, async (inspected) => {
      requireKnownSchema(inspected.read);
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

/** Runs `look` with a read-only connection to the folder's database. @throws DamagedDatabaseError */
export async function withReadOnlyDatabase<Result>(
  folder: string,
  look: (inspected: InspectedFolder) => Promise<Result>,
): Promise<Result> {
  const file = databaseFile(folder);
  try {
    const read = openForReading(file, { isMapped: false });
    try {
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
