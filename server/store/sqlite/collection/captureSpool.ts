import Database from 'better-sqlite3';

/** A capture that was read from a file and is not recorded yet. `record` is the importer's own data as JSON. */
export interface SpooledCapture {
  n: number;
  /** The capture's own time. */
  at: string;
  source: string;
  /** Null for a revisit whose object is unknown yet. */
  sha256: string | null;
  record_id: string | null;
  payload_digest: string | null;
  record: string;
}

const COLUMNS = 'n, at, source, sha256, record_id, payload_digest, record';

/**
 * A temporary database under `tmp/` for the captures of an import and the bytes of small objects. It returns the
 * captures in the order of their own times and finds the capture that a revisit refers to, without holding them in
 * memory. It is never synced, because it is useless after a crash.
 */
export class CaptureSpool {
  readonly #database: Database.Database;
  readonly #statements = new Map<string, Database.Statement<unknown[]>>();
  /** One byte for each object: 1 once its bytes were returned. */
  #taken = new Uint8Array(1_024);
  #count = 0;

  constructor(file: string) {
    this.#database = new Database(file);
    this.#database.pragma('page_size = 16384');
    this.#database.pragma('journal_mode = OFF');
    this.#database.pragma('synchronous = OFF');
    this.#database.exec(`
      CREATE TABLE captures (n INTEGER PRIMARY KEY, at TEXT NOT NULL, source TEXT NOT NULL, sha256 TEXT, record_id TEXT,
        payload_digest TEXT, record TEXT NOT NULL);
      CREATE INDEX by_time ON captures (at, n);
      CREATE INDEX by_record ON captures (record_id);
      CREATE INDEX by_moment ON captures (source, at);
      CREATE INDEX by_payload ON captures (payload_digest, source) WHERE payload_digest IS NOT NULL;
      CREATE TABLE objects (n INTEGER PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE, content BLOB NOT NULL);
      CREATE TABLE not_get (record_id TEXT PRIMARY KEY) WITHOUT ROWID;
      BEGIN`);
  }

  #statement(sql: string): Database.Statement<unknown[]> {
    let found = this.#statements.get(sql);
    if (!found) {
      found = this.#database.prepare(sql);
      this.#statements.set(sql, found);
    }
    return found;
  }

  add(capture: Omit<SpooledCapture, 'n'>): void {
    this.#statement(
      `INSERT INTO captures (at, source, sha256, record_id, payload_digest, record)
       VALUES (@at, @source, @sha256, @record_id, @payload_digest, @record)`,
    ).run(capture);
    this.#count += 1;
  }

  addObject(sha256: string, content: Buffer): void {
    this.#statement('INSERT OR IGNORE INTO objects (sha256, content) VALUES (?, ?)').run(sha256, content);
  }

  hasObject(sha256: string): boolean {
    return this.#statement('SELECT 1 FROM objects WHERE sha256 = ?').get(sha256) !== undefined;
  }

  /** Returns an object's bytes once. They are only marked as taken; the file is removed soon anyway. */
  consumeObject(sha256: string): Buffer | undefined {
    const found = this.#statement('SELECT n, content FROM objects WHERE sha256 = ?').get(sha256);
    const row = found as { n: number; content: Buffer } | undefined;
    if (!row || this.#taken[row.n] === 1) return undefined;
    this.#markTaken(row.n);
    return row.content;
  }

  #markTaken(n: number): void {
    if (n >= this.#taken.length) {
      const larger = new Uint8Array(2 * n);
      larger.set(this.#taken);
      this.#taken = larger;
    }
    this.#taken[n] = 1;
  }

  /** Remembers the record of a request that is not a GET, or a record that belongs to one. */
  addNotGet(recordId: string): void {
    this.#statement('INSERT OR IGNORE INTO not_get VALUES (?)').run(recordId);
  }

  isNotGet(recordIds: readonly string[]): boolean {
    return recordIds.some((id) => this.#statement('SELECT 1 FROM not_get WHERE record_id = ?').get(id));
  }

  /** Returns the captures after `last`, in the order of their own times. */
  after(last: Pick<SpooledCapture, 'at' | 'n'> | undefined, limit: number): SpooledCapture[] {
    return this.#statement(
      `SELECT ${COLUMNS} FROM captures WHERE (at, n) > (?, ?) ORDER BY at, n LIMIT ?`,
    ).all(last?.at ?? '', last?.n ?? 0, limit) as SpooledCapture[];
  }

  byRecord(recordId: string): SpooledCapture | undefined {
    return this.#one('record_id = ?', [recordId]);
  }

  byMoment(source: string, at: string): SpooledCapture | undefined {
    return this.#one('source = ? AND at = ?', [source, at]);
  }

  /** Returns a capture whose payload has this digest, at one address or at any. */
  byPayload(digest: string, source?: string): SpooledCapture | undefined {
    return source === undefined
      ? this.#one('payload_digest = ? AND sha256 IS NOT NULL', [digest])
      : this.#one('payload_digest = ? AND source = ? AND sha256 IS NOT NULL', [digest, source]);
  }

  /** Returns the first capture of an address between two times, both inclusive. */
  firstWithin(source: string, from: string, until: string): SpooledCapture | undefined {
    return this.#statement(
      `SELECT ${COLUMNS} FROM captures WHERE source = ? AND at BETWEEN ? AND ?
       ORDER BY at, sha256 IS NULL, n LIMIT 1`,
    ).get(source, from, until) as SpooledCapture | undefined;
  }

  /** Prefers captures with an object: a revisit never refers to another revisit. */
  #one(where: string, values: string[]): SpooledCapture | undefined {
    return this.#statement(
      `SELECT ${COLUMNS} FROM captures WHERE ${where} ORDER BY sha256 IS NULL, n LIMIT 1`,
    ).get(...values) as SpooledCapture | undefined;
  }

  /** The number of captures. */
  get count(): number {
    return this.#count;
  }

  close(): void {
    this.#database.close();
  }
}
