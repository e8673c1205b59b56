import { closeSync, type Dirent, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isMissing } from '../blobs/fileErrors.ts';
import { databaseFile, journalFolder } from '../blobs/paths.ts';
import { headFile } from './headFile.ts';

/** There is no database, or none that can be one, and there is what belonged to one. */
export class MissingDatabaseError extends Error {
  constructor(folder: string, what: string, left: readonly string[]) {
    super(
      `${what} in ${folder}, but there is what belongs to one: ${left.join(', ')}. Put strongroom.db back from a backup, or make it anew of the newest dump and the stored bytes with “strongroom rebuild ${folder}” (or “serve --rebuild”). Nothing was changed.`,
    );
    this.name = 'MissingDatabaseError';
  }
}

/** SQLite cannot read the database. */
export class DamagedDatabaseError extends Error {
  constructor(file: string, cause: unknown) {
    super(
      `The database ${file} is damaged (${cause instanceof Error ? cause.message : String(cause)}). Put it back from a backup, or make it anew of the newest dump and the stored bytes with “strongroom rebuild”.`,
      { cause },
    );
    this.name = 'DamagedDatabaseError';
  }
}

const SQLITE_HEADER = 'SQLite format 3\0';

/**
 * Whether a data folder holds a database, or is where a new archive may be made. Changes nothing.
 *
 * @throws MissingDatabaseError where there is no database and what is there belongs to one
 */
export function hasDatabase(folder: string): boolean {
  const file = databaseFile(folder);
  const beginning = beginningOf(file);
  if (beginning === SQLITE_HEADER) return true;
  const left = whatIsLeft(folder);
  if (beginning) {
    throw new MissingDatabaseError(folder, `The file ${basename(file)} is no database`, [
      basename(file),
      ...left,
    ]);
  }
  // A first start that was killed may leave a file of 0 bytes, and nothing else of an archive.
  if (left.length === 0) return false;
  const what = beginning === undefined ? 'There is no database' : 'The database is an empty file';
  throw new MissingDatabaseError(folder, what, left);
}

/**
 * Asked of a database without any table: nothing can have been stored under it, because a first start makes the tables
 * before it keeps a byte.
 *
 * @throws MissingDatabaseError where stored bytes are there all the same: its log was lost, or another's was put there
 */
export function requireNothingStored(folder: string): void {
  const left = whatIsLeft(folder);
  if (left.some((each) => each.endsWith('/')))
    throw new MissingDatabaseError(folder, 'The database holds nothing', left);
}

/** As many of a file's first bytes as a database's header has, or undefined where there is no file. */
function beginningOf(file: string): string | undefined {
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

/** What only an archive has, by the names that an owner sees. */
function whatIsLeft(folder: string): string[] {
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
