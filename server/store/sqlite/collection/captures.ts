import type { PageLabel } from '../../../../shared/collection/event.ts';
import type { RetrievalError } from '../../../../shared/collection/retrieval.ts';
import { openScratch, type ReadDatabase, type WriteDatabase } from '../engine/open.ts';
import {
  change,
  hasRow,
  inserts,
  selectAll,
  selectOne,
  selectValue,
  selectValues,
} from '../engine/queries.ts';
import { isHandedInSql } from './handIns.ts';
import { parsePageLabel } from './retrievals.ts';

/** The id of a WARC record and the digest of its payload as `<algorithm>:<hex>`. */
interface CaptureIdentity {
  record_id: string | null;
  payload_digest: string | null;
}

/** Identifies a capture. */
interface CaptureKey {
  source_key: number;
  observer: string;
  original_observed_at: string;
  sha256: string;
}

/** The data that a revisit copies from the capture it refers to. */
export interface ReferredCapture {
  sha256: string;
  bytes: number;
  status: number | null;
  error: RetrievalError | null;
  content_type: string | null;
  page_label: PageLabel | null;
  payload_digest: string | null;
}

/** Whether this capture is recorded already. */
export const hasCapture = hasRow<[capture: CaptureKey]>(`
  SELECT 1 FROM retrievals WHERE source_key = $source_key AND original_observed_at = $original_observed_at
  AND observer = $observer AND sha256 = $sha256 AND part_of IS NULL LIMIT 1`);

/** Whether any capture of this moment is recorded, so that it need not be fetched again. */
export const hasCaptureAt = hasRow<[capture: { source: string; observer: string; at: string }]>(`
  SELECT 1 FROM retrievals WHERE source_key = (SELECT key FROM sources WHERE id = $source)
  AND original_observed_at = $at AND observer = $observer AND part_of IS NULL LIMIT 1`);

/** Returns the number of the newest capture of an object by an observer, up to a moment. */
export const newestCaptureUntil = selectValue<
  number,
  [values: { source_key: number; observer: string; at: string }]
>(`SELECT id FROM retrievals INDEXED BY retrievals_by_capture
  WHERE source_key = $source_key AND original_observed_at IS NOT NULL AND original_observed_at <= $at
    AND observer = $observer AND sha256 IS NOT NULL AND part_of IS NULL
  ORDER BY original_observed_at DESC LIMIT 1`);

/** Stores the identity of a WARC record for its retrieval. */
export const insertCapture = inserts<CaptureIdentity & { retrieval: number }>(
  'captures',
  'retrieval, record_id, payload_digest',
);

type Stored = Omit<ReferredCapture, 'page_label'> & { page_label: string | null };

const REFERRED = `SELECT r.sha256, b.bytes, r.status, r.error, r.content_type, r.page_label, c.payload_digest
  FROM retrievals r JOIN blobs b ON b.sha256 = r.sha256`;

function fromStored(row: Stored): ReferredCapture {
  return { ...row, page_label: parsePageLabel(row.page_label) };
}

/** Returns the capture with a record id (WARC-Refers-To). */
export const captureByRecord = selectOne<Stored, [recordId: string], ReferredCapture>(
  `${REFERRED} JOIN captures c ON c.retrieval = r.id WHERE c.record_id = ? ORDER BY r.id LIMIT 1`,
  fromStored,
);

/** Returns the capture of an address at a moment (WARC-Refers-To-Target-URI, WARC-Refers-To-Date), by any observer. */
export const captureByMoment = selectOne<Stored, [sourceId: string, at: string], ReferredCapture>(
  `${REFERRED} LEFT JOIN captures c ON c.retrieval = r.id
   WHERE r.source_key = (SELECT key FROM sources WHERE id = ?) AND r.original_observed_at = ?
     AND r.part_of IS NULL
   ORDER BY r.id LIMIT 1`,
  fromStored,
);

/** Returns the first capture whose payload has this digest, at one address or at any. Prefers observations. */
export function captureByPayload(
  database: ReadDatabase,
  digest: string,
  sourceId: string | null = null,
): ReferredCapture | undefined {
  return firstWithPayload(database, { digest, sourceId });
}

const firstWithPayload = selectOne<Stored, [{ digest: string; sourceId: string | null }], ReferredCapture>(
  `${REFERRED} JOIN captures c ON c.retrieval = r.id
   WHERE c.payload_digest = $digest
     AND ($sourceId IS NULL OR r.source_key = (SELECT key FROM sources WHERE id = $sourceId))
   ORDER BY r.error IS NOT NULL, r.id LIMIT 1`,
  fromStored,
);

/** Returns the first retrieval of an object by any observer, this node included. Prefers observations. */
export const captureOfObject = selectOne<Stored, [sha256: string], ReferredCapture>(
  `${REFERRED} LEFT JOIN captures c ON c.retrieval = r.id
   WHERE r.sha256 = ? ORDER BY r.error IS NOT NULL, r.id LIMIT 1`,
  fromStored,
);

/** Returns the digest of the version that was last recorded for a source and observer. */
export const lastCapturedVersion = selectValue<string, [sourceKey: number, observer: string]>(`
  SELECT sha256 FROM events INDEXED BY events_by_capture
  WHERE source_key = ? AND observer = ? AND original_observed_at IS NOT NULL ORDER BY id DESC LIMIT 1`);

/** Returns the other observers who captured the same object as a version of the same source. */
export const otherObserversOf = selectValues<
  string,
  [event: { source: string; sha256: string; observer: string }]
>(`
  SELECT DISTINCT observer FROM events WHERE sha256 = $sha256
  AND source_key = (SELECT key FROM sources WHERE id = $source)
  AND event_type IN ('first_seen', 'changed') AND observer <> $observer ORDER BY observer`);

/** Returns who retrieved an object from a source, earliest first, with the first and last time of each observer. */
export const observersOf = selectAll<
  { observer: string; first: string; last: string; retrievals: number },
  [event: { source: string; sha256: string }]
>(`
  SELECT observer, min(coalesce(original_observed_at, observed_at)) AS first,
    max(coalesce(original_observed_at, observed_at)) AS last, count(*) AS retrievals
  FROM retrievals WHERE sha256 = $sha256 AND source_key = (SELECT key FROM sources WHERE id = $source)
  GROUP BY observer ORDER BY first, observer`);

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

/** The tables of a spool. */
export const SPOOL_TABLES = `
  CREATE TABLE spooled_captures (n INTEGER PRIMARY KEY, at TEXT NOT NULL, source TEXT NOT NULL, sha256 TEXT,
    record_id TEXT, payload_digest TEXT, record TEXT NOT NULL);
  CREATE INDEX spooled_by_time ON spooled_captures (at, n);
  CREATE INDEX spooled_by_record ON spooled_captures (record_id);
  CREATE INDEX spooled_by_moment ON spooled_captures (source, at);
  CREATE INDEX spooled_by_payload ON spooled_captures (payload_digest, source) WHERE payload_digest IS NOT NULL;
  CREATE TABLE spooled_objects (n INTEGER PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE, content BLOB NOT NULL);
  CREATE TABLE not_get (record_id TEXT PRIMARY KEY) WITHOUT ROWID`;

const insertSpooled = inserts<Omit<SpooledCapture, 'n'>>(
  'spooled_captures',
  'at, source, sha256, record_id, payload_digest, record',
);
const insertContent = change<[sha256: string, content: Buffer]>(
  'INSERT OR IGNORE INTO spooled_objects (sha256, content) VALUES (?, ?)',
);
const hasContent = hasRow<[sha256: string]>('SELECT 1 FROM spooled_objects WHERE sha256 = ?');
const contentOf = selectOne<{ n: number; content: Buffer }, [sha256: string]>(
  'SELECT n, content FROM spooled_objects WHERE sha256 = ?',
);
const insertNotGet = change<[recordId: string]>('INSERT OR IGNORE INTO not_get VALUES (?)');
const hasNotGet = hasRow<[recordId: string]>('SELECT 1 FROM not_get WHERE record_id = ?');

const SPOOLED = `SELECT ${COLUMNS} FROM spooled_captures WHERE`;
const spooledAfter = selectAll<SpooledCapture, [at: string, n: number, limit: number]>(
  `${SPOOLED} (at, n) > (?, ?) ORDER BY at, n LIMIT ?`,
);
const spooledWithin = selectOne<SpooledCapture, [source: string, from: string, until: string]>(
  `${SPOOLED} source = ? AND at BETWEEN ? AND ? ORDER BY at, sha256 IS NULL, n LIMIT 1`,
);

/** Captures with an object come first: a revisit never refers to another revisit. */
const FIRST = 'ORDER BY sha256 IS NULL, n LIMIT 1';
const spooledByRecord = selectOne<SpooledCapture, [recordId: string]>(`${SPOOLED} record_id = ? ${FIRST}`);
const spooledByMoment = selectOne<SpooledCapture, [source: string, at: string]>(
  `${SPOOLED} source = ? AND at = ? ${FIRST}`,
);
const spooledByPayload = selectOne<SpooledCapture, [digest: string]>(
  `${SPOOLED} payload_digest = ? AND sha256 IS NOT NULL ${FIRST}`,
);
const spooledByPayloadAt = selectOne<SpooledCapture, [digest: string, source: string]>(
  `${SPOOLED} payload_digest = ? AND source = ? AND sha256 IS NOT NULL ${FIRST}`,
);

/**
 * A temporary database under `tmp/` for the captures of an import and the bytes of small objects. It returns the
 * captures in the order of their own times and finds the capture that a revisit refers to, without holding them in
 * memory. It is never synced, because it is useless after a crash.
 */
export class CaptureSpool {
  readonly #database: WriteDatabase;
  /** One byte for each object: 1 once its bytes were returned. */
  #taken = new Uint8Array(1_024);
  #count = 0;

  constructor(file: string) {
    this.#database = openScratch(file, SPOOL_TABLES);
  }

  add(capture: Omit<SpooledCapture, 'n'>): void {
    insertSpooled(this.#database, capture);
    this.#count += 1;
  }

  addObject(sha256: string, content: Buffer): void {
    insertContent(this.#database, sha256, content);
  }

  hasObject(sha256: string): boolean {
    return hasContent(this.#database, sha256);
  }

  /** Returns an object's bytes once. They are only marked as taken; the file is removed soon anyway. */
  consumeObject(sha256: string): Buffer | undefined {
    const row = contentOf(this.#database, sha256);
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
    insertNotGet(this.#database, recordId);
  }

  isNotGet(recordIds: readonly string[]): boolean {
    return recordIds.some((id) => hasNotGet(this.#database, id));
  }

  /** Returns the captures after `last`, in the order of their own times. */
  after(last: Pick<SpooledCapture, 'at' | 'n'> | undefined, limit: number): SpooledCapture[] {
    return spooledAfter(this.#database, last?.at ?? '', last?.n ?? 0, limit);
  }

  byRecord(recordId: string): SpooledCapture | undefined {
    return spooledByRecord(this.#database, recordId);
  }

  byMoment(source: string, at: string): SpooledCapture | undefined {
    return spooledByMoment(this.#database, source, at);
  }

  /** Returns a capture whose payload has this digest, at one address or at any. */
  byPayload(digest: string, source?: string): SpooledCapture | undefined {
    return source === undefined
      ? spooledByPayload(this.#database, digest)
      : spooledByPayloadAt(this.#database, digest, source);
  }

  /** Returns the first capture of an address between two times, both inclusive. */
  firstWithin(source: string, from: string, until: string): SpooledCapture | undefined {
    return spooledWithin(this.#database, source, from, until);
  }

  /** The number of captures. */
  get count(): number {
    return this.#count;
  }

  close(): void {
    this.#database.close();
  }
}

/**
 * An observation of a source (RFC 7089). What a person handed in is none: no server answered it. Its moment is the
 * capture's own time, or else the time of the observation.
 */
export interface MementoRow {
  id: number;
  moment: string;
  sha256: string;
  content_type: string | null;
  status: number | null;
  headers: [string, string][];
}

/** The same expression as in the index `observations_by_moment`. */
const MOMENT = 'coalesce(original_observed_at, observed_at)';
const OBSERVATIONS = `retrievals INDEXED BY observations_by_moment
  WHERE source_key = ? AND sha256 IS NOT NULL AND error IS NULL AND part_of IS NULL
    AND NOT ${isHandedInSql('observer')}`;

/** Returns the first observation of a source between two moments, both inclusive; the newest of several at one moment. */
export const mementoBetween = selectOne<
  Omit<MementoRow, 'headers'> & { headers: string },
  [sourceKey: number, from: string, until: string],
  MementoRow
>(
  `SELECT id, ${MOMENT} AS moment, sha256, content_type, status, headers FROM ${OBSERVATIONS}
     AND ${MOMENT} BETWEEN ? AND ? ORDER BY ${MOMENT}, id DESC LIMIT 1`,
  (row) => ({ ...row, headers: JSON.parse(row.headers) as [string, string][] }),
);

/** Returns the distinct moments of a source's observations after a moment, in order. */
export const momentsAfter = selectAll<
  { moment: string },
  [sourceKey: number, moment: string, limit: number],
  string
>(
  `SELECT DISTINCT ${MOMENT} AS moment FROM ${OBSERVATIONS} AND ${MOMENT} > ? ORDER BY ${MOMENT} LIMIT ?`,
  (row) => row.moment,
);

/** Returns the last moment of a source's observations before a moment. */
export const momentBefore = selectValue<string, [sourceKey: number, moment: string]>(
  `SELECT ${MOMENT} AS moment FROM ${OBSERVATIONS} AND ${MOMENT} < ? ORDER BY ${MOMENT} DESC LIMIT 1`,
);
