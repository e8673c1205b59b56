import { existsSync, rmSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { databaseFile } from '../blobs/paths.ts';
import { databaseSchemaVersion, requireKnownSchema } from '../sqlite/engine/migrate.ts';
import { openForReading, type ReadDatabase, type WriteDatabase } from '../sqlite/engine/open.ts';
import { entryAt, lastEntry } from '../sqlite/node/ledger.ts';
import { readSetting } from '../sqlite/node/settings.ts';
import { DamagedDatabaseError, hasDatabase, requireNothingStored } from './existingArchive.ts';
import { type RecordedHead, readHeadFile } from './headFile.ts';

/** The database holds less than the node acknowledged, or something else. */
export class RollbackDetectedError extends Error {
  /** What is wrong, in a sentence without its subject. */
  readonly reason: string;

  constructor(folder: string, reason: string) {
    super(
      `The database in ${folder} is not the one that this archive was written with last: ${reason} Put the newest strongroom.db and strongroom.db-wal back. If they are lost, “strongroom serve --accept-rollback” goes on with what there is, under a new key, and records that.`,
    );
    this.name = 'RollbackDetectedError';
    this.reason = reason;
  }
}

/** What was found before anything was changed, and what is to be done about it. */
export interface Verdict {
  /** Whether it is known that the database holds everything that was acknowledged: only then is a leftover known. */
  isWhole: boolean;
  /** Is made in a transaction of its own as soon as the schema is up to date, before anything else. */
  change?: ((database: WriteDatabase) => void) | undefined;
}

/** What is looked at: the database, read-only, and what lies beside it, read before it. */
export interface InspectedFolder {
  folder: string;
  read: ReadDatabase;
  /** Whether the database has any table yet. */
  hasTables: boolean;
}

/**
 * Judges an archive before anything in its folder is made, changed, renamed or removed; what it throws refuses the
 * opening. What it is given ends with it.
 */
export type Judge = (examined: InspectedFolder) => Promise<Verdict>;

/** What is found in a data folder that has no database yet, or in one that has been judged. */
export interface Examination extends Verdict {
  /** The lock file that the node before this one held; see `FolderLock`. */
  lockId: string | undefined;
  isNew: boolean;
}

/** The setting under which the database remembers its node's lock file. */
export const LOCK_SETTING = 'lock_file';

/**
 * Looks at what is in a data folder, and changes nothing: a connection that only reads copies nothing from the log into
 * the database, and leaves the log where it is.
 *
 * @throws MissingDatabaseError, DamagedDatabaseError, NewerDatabaseError; what the judge throws
 */
export async function inspectFolder(folder: string, judge: Judge): Promise<Examination> {
  if (!hasDatabase(folder)) return { isWhole: true, lockId: undefined, isNew: true };
  const file = databaseFile(folder);
  const made = [`${file}-shm`, `${file}-wal`].filter((each) => !existsSync(each));
  try {
    return await withReadOnlyDatabase(folder, async (examined) => {
      requireKnownSchema(examined.read);
      const verdict = await judge(examined);
      if (!examined.hasTables && !verdict.change) requireNothingStored(folder);
      const lockId = examined.hasTables ? readSetting(examined.read, LOCK_SETTING) : undefined;
      return { ...verdict, lockId: typeof lockId === 'string' ? lockId : undefined, isNew: false };
    });
  } catch (error) {
    // SQLite makes both, empty, to read a database that has none. Where it is refused nobody writes to them.
    if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0)
      for (const each of made) rmSync(each, { force: true });
    throw error;
  }
}

/** Reads a database over a connection that changes nothing. @throws DamagedDatabaseError */
export async function withReadOnlyDatabase<Result>(
  folder: string,
  look: (examined: InspectedFolder) => Promise<Result>,
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
 * Refuses a database without any table over stored bytes, as `examine` does, for those who only read. One that cannot
 * be read is left to them.
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

/** Whether a folder's database can be read from its first page to its last. */
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

/** What SQLite says of a file that it cannot read, in a sentence; anything else as it is. */
export function asDamagedDatabaseError(file: string, error: unknown): unknown {
  const isDamage = error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
  return isDamage ? new DamagedDatabaseError(file, error) : error;
}

/**
 * Whether the ledger still holds the head that was kept: undefined if so, else what is wrong, in a sentence.
 */
export function behindHead(
  { read, hasTables }: Omit<InspectedFolder, 'folder'>,
  head: RecordedHead,
): string | undefined {
  if (head.seq === 0) return undefined;
  const size = hasTables ? (lastEntry(read)?.seq ?? 0) : 0;
  if (size < head.seq) return `its ledger ends with entry ${size}, and entry ${head.seq} was acknowledged.`;
  if (entryAt(read, head.seq)?.hash === head.hash) return undefined;
  return `its entry ${head.seq} is not the one that was acknowledged.`;
}

/** The judge of whoever opens a data folder for its rows alone: it knows no key and no checkpoint. */
export const checkHead: Judge = (examined) => {
  const head = readHeadFile(examined.folder);
  const behind = head && behindHead(examined, head);
  if (behind) return Promise.reject(new RollbackDetectedError(examined.folder, behind));
  return Promise.resolve({ isWhole: head !== undefined });
};
