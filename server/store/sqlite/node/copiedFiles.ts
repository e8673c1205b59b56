import { openScratch, type ReadDatabase, type WriteDatabase } from '../engine/open.ts';
import {
  change,
  countRows,
  hasRow,
  selectAll,
  selectOne,
  selectValue,
  selectValues,
  updates,
} from '../engine/queries.ts';

/** A file of a copy that is no object. */
export interface CopiedFile {
  /** Where the path falls in the order of the list; negative for a file of the list itself. */
  place: number;
  path: string;
  sha256: string;
  /** `passing`: replaced by one of another name as the ledger grows. `gone`: still to be removed. */
  state: 'kept' | 'passing' | 'gone';
}
type Key = Pick<CopiedFile, 'place' | 'path'>;

const COLUMNS = 'place, path, lower(hex(sha256)) AS sha256, state';

/** Records what a copy has, or is about to get, under a path. */
export function setCopiedFile(database: WriteDatabase, copy: string, file: CopiedFile): void {
  putFile(database, { copy, ...file });
  markChanged(database, copy, file.place);
}

type FileOfCopy = CopiedFile & { copy: string };

const putFile = change<[FileOfCopy]>(`
  INSERT INTO copied_files (copy, place, path, sha256, state)
  VALUES ($copy, $place, $path, unhex($sha256), $state)
  ON CONFLICT DO UPDATE SET sha256 = excluded.sha256, state = excluded.state`);

/** Records a file that is about to be sent, unless the copy has one under its path. */
export function expectCopiedFile(database: WriteDatabase, copy: string, file: CopiedFile): void {
  insertFile(database, { copy, ...file });
}

const insertFile = change<[FileOfCopy]>(`
  INSERT OR IGNORE INTO copied_files (copy, place, path, sha256, state)
  VALUES ($copy, $place, $path, unhex($sha256), $state)`);

/** Records that a file is to be removed. */
export function setFileGone(database: WriteDatabase, copy: string, { place, path }: Key): void {
  if (setGone(database, copy, place, path) > 0) markChanged(database, copy, place);
}

const setGone = change<[copy: string, place: number, path: string]>(
  "UPDATE copied_files SET state = 'gone' WHERE copy = ? AND place = ? AND path = ?",
);

/** Before a copy has its first list, everything counts as changed. */
function markChanged(database: WriteDatabase, copy: string, place: number): void {
  insertChange(database, { copy, place });
}

const insertChange = change<[{ copy: string; place: number }]>(`
  INSERT OR IGNORE INTO copied_file_changes (copy, place)
  SELECT id, $place FROM copies WHERE id = $copy AND is_listed = 1 AND $place >= 0`);

export const deleteCopiedFile = change<[values: Key & { copy: string }]>(
  'DELETE FROM copied_files WHERE copy = $copy AND place = $place AND path = $path',
);

/** Forgets what a copy has. Its list is no longer complete then. */
export function forgetCopiedFiles(database: WriteDatabase, copy: string): void {
  deleteFiles(database, copy);
  deleteChanges(database, copy);
  setIsListed(database, { id: copy, is_listed: 0 });
}

const deleteFiles = change<[copy: string]>('DELETE FROM copied_files WHERE copy = ?');
const deleteChanges = change<[copy: string]>('DELETE FROM copied_file_changes WHERE copy = ?');
const setIsListed = updates<{ id: string; is_listed: 0 | 1 }>('copies', { key: 'id', columns: 'is_listed' });

export const copiedFile = selectOne<CopiedFile, [values: Key & { copy: string }]>(
  `SELECT ${COLUMNS} FROM copied_files WHERE copy = $copy AND place = $place AND path = $path`,
);

/** Returns the files that belong in the list and fall from `from` to below `to`, sorted by their paths. */
export const listedFiles = selectAll<CopiedFile, [values: { copy: string; from: number; to: number }]>(`
  SELECT ${COLUMNS} FROM copied_files
  WHERE copy = $copy AND place >= $from AND place < $to AND state <> 'gone' ORDER BY path`);

/** Returns up to `limit` files that belong in the list, after another one. */
export function listedFilesAfter(
  database: ReadDatabase,
  copy: string,
  after: Key | undefined,
  limit: number,
): CopiedFile[] {
  return filesAfter(database, copy, after?.place ?? -1, after?.path ?? '', limit);
}

const filesAfter = selectAll<CopiedFile, [copy: string, place: number, path: string, limit: number]>(`
  SELECT ${COLUMNS} FROM copied_files
  WHERE copy = ? AND place >= 0 AND (place, path) > (?, ?) AND state <> 'gone' ORDER BY place, path LIMIT ?`);

export const countListedFiles = countRows<[copy: string]>(
  "copied_files WHERE copy = ? AND place >= 0 AND state <> 'gone'",
);

export const filesInState = selectAll<CopiedFile, [copy: string, state: 'passing' | 'gone']>(
  `SELECT ${COLUMNS} FROM copied_files WHERE copy = ? AND state <> 'kept' AND state = ?`,
);

/** The files into which earlier versions encrypted withheld objects. The condition on the path is that of the index. */
const ENCRYPTED = "copied_files WHERE copy = $copy AND path GLOB 'withheld/*'";

/** Returns the paths of these files after one, in order. */
export const encryptedFiles = selectValues<string, [values: { copy: string; after: string; limit: number }]>(
  `SELECT path FROM ${ENCRYPTED} AND state = 'kept' AND path > $after ORDER BY path LIMIT $limit`,
);

export const countEncryptedFiles = selectValue<number, [values: { copy: string }]>(
  `SELECT count(*) FROM ${ENCRYPTED} AND state = 'kept'`,
  0,
);

/** Returns the files of the list itself that a copy has. */
export const filesOfList = selectAll<CopiedFile, [copy: string]>(
  `SELECT ${COLUMNS} FROM copied_files WHERE copy = ? AND place < 0`,
);

/** Returns the places of the files that changed since the list was written. */
export const changedPlaces = selectValues<number, [copy: string]>(
  'SELECT place FROM copied_file_changes WHERE copy = ?',
);

/** Records that a copy has a complete list of its files. */
export function setListed(database: WriteDatabase, copy: string): void {
  deleteChanges(database, copy);
  setIsListed(database, { id: copy, is_listed: 1 });
}

/** Records the size of a checkpoint that is about to be sent. */
export const setSendingSize = updates<{ id: string; sending_size: number }>('copies', {
  key: 'id',
  columns: 'sending_size',
});

/** A file that must be there. */
interface ExpectedFile {
  path: string;
  /** null if its bytes are verified in another way. */
  sha256: string | null;
}

/** The tables of `ExpectedFiles`. */
export const EXPECTED_TABLES = `
  CREATE TABLE expected (path TEXT PRIMARY KEY, sha256 TEXT) WITHOUT ROWID;
  CREATE TABLE allowed (path TEXT, sha256 TEXT, PRIMARY KEY (path, sha256)) WITHOUT ROWID;
  CREATE TABLE sent (path TEXT, sha256 TEXT, PRIMARY KEY (path, sha256)) WITHOUT ROWID;
  CREATE TABLE forbidden (sha256 TEXT PRIMARY KEY) WITHOUT ROWID`;

const addExpected = change<[path: string, sha256: string | null]>(
  'INSERT OR REPLACE INTO expected (path, sha256) VALUES (?, ?)',
);
const hasExpected = hasRow<[path: string]>('SELECT 1 FROM expected WHERE path = ?');
const hasExpectedBytes = hasRow<[path: string, sha256: string]>(
  'SELECT 1 FROM expected WHERE path = ? AND sha256 = ?',
);
const removeExpected = change<[path: string]>('DELETE FROM expected WHERE path = ?');
const expectedAfter = selectAll<ExpectedFile, [path: string, limit: number]>(
  'SELECT path, sha256 FROM expected WHERE path > ? ORDER BY path LIMIT ?',
);
const addAllowed = change<[path: string, sha256: string]>(
  'INSERT OR IGNORE INTO allowed (path, sha256) VALUES (?, ?)',
);
const hasAllowed = hasRow<[path: string, sha256: string]>(
  'SELECT 1 FROM allowed WHERE path = ? AND sha256 = ?',
);
const addSent = change<[path: string, sha256: string]>(
  'INSERT OR IGNORE INTO sent (path, sha256) VALUES (?, ?)',
);
const hasSent = hasRow<[path: string, sha256: string]>('SELECT 1 FROM sent WHERE path = ? AND sha256 = ?');
const addForbidden = change<[sha256: string]>('INSERT OR IGNORE INTO forbidden (sha256) VALUES (?)');
const hasForbidden = hasRow<[sha256: string]>('SELECT 1 FROM forbidden WHERE sha256 = ?');

/** The files that a copy must have, in a file of its own: millions of them need no memory. It is deleted by its caller. */
export class ExpectedFiles {
  readonly #database: WriteDatabase;

  constructor(file: string) {
    this.#database = openScratch(file, EXPECTED_TABLES);
  }

  add(path: string, sha256: string | null): void {
    addExpected(this.#database, path, sha256);
  }

  has(path: string): boolean {
    return hasExpected(this.#database, path);
  }

  isExpected(path: string, sha256: string): boolean {
    return hasExpectedBytes(this.#database, path, sha256);
  }

  remove(path: string): void {
    removeExpected(this.#database, path);
  }

  /** Files may also have these bytes, and may be there although they are not expected. */
  allow(path: string, sha256: string): void {
    addAllowed(this.#database, path, sha256);
  }

  isAllowed(path: string, sha256: string): boolean {
    return hasAllowed(this.#database, path, sha256);
  }

  /** Something signed says that the archive sent such a file once, perhaps long before the list was written. */
  setSent(path: string, sha256: string): void {
    addSent(this.#database, path, sha256);
  }

  wasSent(path: string, sha256: string): boolean {
    return hasSent(this.#database, path, sha256);
  }

  /** No file may have these bytes, whatever its name, unless it is allowed. */
  forbid(sha256: string): void {
    addForbidden(this.#database, sha256);
  }

  isForbidden(sha256: string): boolean {
    return hasForbidden(this.#database, sha256);
  }

  /** Yields all files in the order of their paths. */
  *[Symbol.iterator](): Generator<ExpectedFile> {
    yield* this.below('');
  }

  /** Yields the files below a folder such as `archive/`. */
  *below(folder: string): Generator<ExpectedFile> {
    for (let last = folder, files: ExpectedFile[]; ; last = files.at(-1)?.path ?? '') {
      files = expectedAfter(this.#database, last, 1_000).filter(({ path }) => path.startsWith(folder));
      if (files.length === 0) return;
      yield* files;
    }
  }

  close(): void {
    this.#database.close();
  }
}
