import { closeSync, type Dirent, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isMissing } from '../blobs/fileErrors.ts';
import { databaseFile, journalFolder } from '../blobs/paths.ts';
import { headFile } from './headFile.ts';

/** The folder has no usable database, but other files of an archive. */
export class MissingDatabaseError extends Error {
  constructor(folder: string, what: string, found: readonly string[]) {
    super(
      `${what} in ${folder}, but other files of an archive are there: ${found.join(', ')}. Put strongroom.db back from a backup, or rebuild it from the newest dump and the stored bytes with “strongroom rebuild ${folder}” (or “serve --rebuild”). Nothing was changed.`,
    );
    this.name = 'MissingDatabaseError';
  }
}

/** SQLite cannot read the database. */
export class DamagedDatabaseError extends Error {
  constructor(file: string, cause: unknown) {
    super(
      `The database ${file} is damaged (${cause instanceof Error ? cause.message : String(cause)}). Put it back from a backup, or rebuild it from the newest dump and the stored bytes with “strongroom rebuild”.`,
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
  if (header) {
    throw new MissingDatabaseError(folder, `The file ${basename(file)} is no database`, [
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
export function requireNothingStored(folder: string): void {
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
  const folders = [join(folder, 'blobs'), journalFolder(folder), join(folder, 'lost-and-found')];
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
