import Database from 'better-sqlite3';

/** A file that must be there. */
export interface ExpectedFile {
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
      BEGIN`);
    this.#database = database;
    this.#statements = {
      add: database.prepare('INSERT OR REPLACE INTO expected (path, sha256) VALUES (?, ?)'),
      has: database.prepare('SELECT 1 FROM expected WHERE path = ?'),
      remove: database.prepare('DELETE FROM expected WHERE path = ?'),
      after: database.prepare<[string, number], ExpectedFile>(
        'SELECT path, sha256 FROM expected WHERE path > ? ORDER BY path LIMIT ?',
      ),
      allow: database.prepare('INSERT OR IGNORE INTO allowed (path, sha256) VALUES (?, ?)'),
      isAllowed: database.prepare('SELECT 1 FROM allowed WHERE path = ? AND sha256 = ?'),
    };
  }

  add(path: string, sha256: string | null): void {
    this.#statements.add.run(path, sha256);
  }

  has(path: string): boolean {
    return this.#statements.has.get(path) !== undefined;
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
