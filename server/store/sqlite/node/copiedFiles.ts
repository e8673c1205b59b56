import Database from 'better-sqlite3';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  all,
  change,
  countOf,
  run,
  selectAll,
  selectOne,
  selectValue,
  selectValues,
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
  run(
    database,
    `INSERT INTO copied_files (copy, place, path, sha256, state)
     VALUES ($copy, $place, $path, unhex($sha256), $state)
     ON CONFLICT DO UPDATE SET sha256 = excluded.sha256, state = excluded.state`,
    { copy, ...file },
  );
  markChanged(database, copy, file.place);
}

/** Records a file that is about to be sent, unless the copy has one under its path. */
export function expectCopiedFile(database: WriteDatabase, copy: string, file: CopiedFile): void {
  run(
    database,
    `INSERT OR IGNORE INTO copied_files (copy, place, path, sha256, state)
     VALUES ($copy, $place, $path, unhex($sha256), $state)`,
    { copy, ...file },
  );
}

/** Records that a file is to be removed. */
export function setFileGone(database: WriteDatabase, copy: string, { place, path }: Key): void {
  const sql = `UPDATE copied_files SET state = 'gone' WHERE copy = ? AND place = ? AND path = ?`;
  if (run(database, sql, copy, place, path) > 0) markChanged(database, copy, place);
}

/** Before a copy has its first list, everything counts as changed. */
function markChanged(database: WriteDatabase, copy: string, place: number): void {
  run(
    database,
    `INSERT OR IGNORE INTO copied_file_changes (copy, place)
     SELECT id, ? FROM copies WHERE id = ? AND is_listed = 1 AND ? >= 0`,
    place,
    copy,
    place,
  );
}

export const deleteCopiedFile = change<[copy: string, values: Key]>(
  'DELETE FROM copied_files WHERE copy = ? AND place = $place AND path = $path',
);

/** Forgets what a copy has. Its list is no longer complete then. */
export function forgetCopiedFiles(database: WriteDatabase, copy: string): void {
  run(database, 'DELETE FROM copied_files WHERE copy = ?', copy);
  run(database, 'DELETE FROM copied_file_changes WHERE copy = ?', copy);
  run(database, 'UPDATE copies SET is_listed = 0 WHERE id = ?', copy);
}

export const copiedFile = selectOne<CopiedFile, [copy: string, values: Key]>(
  `SELECT ${COLUMNS} FROM copied_files WHERE copy = ? AND place = $place AND path = $path`,
);

/** Returns the files that belong in the list and fall from `from` to below `to`, sorted by their paths. */
export const listedFiles = selectAll<CopiedFile, [copy: string, values: { from: number; to: number }]>(`
  SELECT ${COLUMNS} FROM copied_files
  WHERE copy = ? AND place >= $from AND place < $to AND state <> 'gone' ORDER BY path`);

/** Returns up to `limit` files that belong in the list, after another one. */
export function listedFilesAfter(
  database: ReadDatabase,
  copy: string,
  after: Key | undefined,
  limit: number,
): CopiedFile[] {
  return all<CopiedFile>(
    database,
    `SELECT ${COLUMNS} FROM copied_files
     WHERE copy = ? AND place >= 0 AND (place, path) > (?, ?) AND state <> 'gone' ORDER BY place, path LIMIT ?`,
    copy,
    after?.place ?? -1,
    after?.path ?? '',
    limit,
  );
}

export const countListedFiles = countOf<[copy: string]>(
  "copied_files WHERE copy = ? AND place >= 0 AND state <> 'gone'",
);

export const filesInState = selectAll<CopiedFile, [copy: string, state: 'passing' | 'gone']>(
  `SELECT ${COLUMNS} FROM copied_files WHERE copy = ? AND state <> 'kept' AND state = ?`,
);

/** The files into which earlier versions encrypted withheld objects. The condition on the path is that of the index. */
const ENCRYPTED = "copied_files WHERE copy = $copy AND path GLOB 'withheld/*'";

/** Returns the paths of these files after one, in order: those that are there, or those that are still to be removed. */
export const encryptedFiles = selectValues<
  string,
  [values: { copy: string; state: 'kept' | 'gone'; after: string; limit: number }]
>(`SELECT path FROM ${ENCRYPTED} AND state = $state AND path > $after ORDER BY path LIMIT $limit`);

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
  run(database, 'DELETE FROM copied_file_changes WHERE copy = ?', copy);
  run(database, 'UPDATE copies SET is_listed = 1 WHERE id = ?', copy);
}

/** Records the size of a checkpoint that is about to be sent. */
export function setSendingSize(database: WriteDatabase, copy: string, size: number): void {
  run(database, 'UPDATE copies SET sending_size = ? WHERE id = ?', size, copy);
}

/** A file that must be there. */
interface ExpectedFile {
  path: string;
  /** null if its bytes are verified in another way. */
  sha256: string | null;
}

/** The files that a copy must have, in a file of its own: millions of them need no memory. It is deleted by its caller. */
export class ExpectedFiles {
  readonly #database: Database.Database;
  readonly #statements;

  constructor(file: string) {
    const database = new Database(file);
    database.pragma('journal_mode = OFF');
    database.pragma('synchronous = OFF');
    database.exec(`
      CREATE TABLE expected (path TEXT PRIMARY KEY, sha256 TEXT) WITHOUT ROWID;
      CREATE TABLE allowed (path TEXT, sha256 TEXT, PRIMARY KEY (path, sha256)) WITHOUT ROWID;
      CREATE TABLE sent (path TEXT, sha256 TEXT, PRIMARY KEY (path, sha256)) WITHOUT ROWID;
      CREATE TABLE forbidden (sha256 TEXT PRIMARY KEY) WITHOUT ROWID;
      BEGIN`);
    this.#database = database;
    this.#statements = {
      add: database.prepare('INSERT OR REPLACE INTO expected (path, sha256) VALUES (?, ?)'),
      has: database.prepare('SELECT 1 FROM expected WHERE path = ?'),
      isExpected: database.prepare('SELECT 1 FROM expected WHERE path = ? AND sha256 = ?'),
      remove: database.prepare('DELETE FROM expected WHERE path = ?'),
      after: database.prepare<[string, number], ExpectedFile>(
        'SELECT path, sha256 FROM expected WHERE path > ? ORDER BY path LIMIT ?',
      ),
      allow: database.prepare('INSERT OR IGNORE INTO allowed (path, sha256) VALUES (?, ?)'),
      isAllowed: database.prepare('SELECT 1 FROM allowed WHERE path = ? AND sha256 = ?'),
      send: database.prepare('INSERT OR IGNORE INTO sent (path, sha256) VALUES (?, ?)'),
      wasSent: database.prepare('SELECT 1 FROM sent WHERE path = ? AND sha256 = ?'),
      forbid: database.prepare('INSERT OR IGNORE INTO forbidden (sha256) VALUES (?)'),
      isForbidden: database.prepare('SELECT 1 FROM forbidden WHERE sha256 = ?'),
    };
  }

  add(path: string, sha256: string | null): void {
    this.#statements.add.run(path, sha256);
  }

  has(path: string): boolean {
    return this.#statements.has.get(path) !== undefined;
  }

  isExpected(path: string, sha256: string): boolean {
    return this.#statements.isExpected.get(path, sha256) !== undefined;
  }

  remove(path: string): void {
    this.#statements.remove.run(path);
  }

  /** Files may also have these bytes, and may be there although they are not expected. */
  allow(path: string, sha256: string): void {
    this.#statements.allow.run(path, sha256);
  }

  isAllowed(path: string, sha256: string): boolean {
    return this.#statements.isAllowed.get(path, sha256) !== undefined;
  }

  /** Something signed says that the archive sent such a file once, perhaps long before the list was written. */
  setSent(path: string, sha256: string): void {
    this.#statements.send.run(path, sha256);
  }

  wasSent(path: string, sha256: string): boolean {
    return this.#statements.wasSent.get(path, sha256) !== undefined;
  }

  /** No file may have these bytes, whatever its name, unless it is allowed. */
  forbid(sha256: string): void {
    this.#statements.forbid.run(sha256);
  }

  isForbidden(sha256: string): boolean {
    return this.#statements.isForbidden.get(sha256) !== undefined;
  }

  /** Yields all files in the order of their paths. */
  *[Symbol.iterator](): Generator<ExpectedFile> {
    yield* this.below('');
  }

  /** Yields the files below a folder such as `archive/`. */
  *below(folder: string): Generator<ExpectedFile> {
    for (let last = folder, files: ExpectedFile[]; ; last = files.at(-1)?.path ?? '') {
      files = this.#statements.after.all(last, 1_000).filter(({ path }) => path.startsWith(folder));
      if (files.length === 0) return;
      yield* files;
    }
  }

  close(): void {
    this.#database.close();
  }
}
