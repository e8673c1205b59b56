import type { EventType } from '../../../../shared/collection/event.ts';
import type { LedgerEntry } from '../../../../shared/ledger/ledger.ts';
import type { Slice } from '../../../../shared/values/list.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';
import {
  all,
  change,
  insert,
  inserts,
  one,
  type Place,
  page,
  selectAll,
  selectEach,
  selectOne,
  selectPage,
  selectValues,
  upsert,
} from '../engine/queries.ts';

export const insertEntry = inserts<LedgerEntry>('ledger', 'seq, at, type, subject, digest, prev, hash');

export const lastEntry = selectOne<LedgerEntry>('SELECT * FROM ledger ORDER BY seq DESC LIMIT 1');

export const entryAt = selectOne<LedgerEntry, [seq: number]>('SELECT * FROM ledger WHERE seq = ?');

/** Returns the entries `from` to `from + limit - 1`, in order. */
export const entriesFrom = selectAll<LedgerEntry, [from: number, limit: number]>(
  'SELECT * FROM ledger WHERE seq >= ? ORDER BY seq LIMIT ?',
);

/** The number of rows fetched in one call. This is a third faster than fetching one at a time. */
const PAGE = 500;

/** Iterates over all entries in order, including ones with invalid numbers. Call it in a transaction for one snapshot. */
export function* iterateEntries(database: ReadDatabase): Generator<LedgerEntry, void> {
  for (let from = Number.MIN_SAFE_INTEGER; ; ) {
    const entries = entriesFrom(database, from, PAGE);
    yield* entries;
    const last = entries.at(-1);
    if (last === undefined || entries.length < PAGE) return;
    from = last.seq + 1;
  }
}

/** Iterates over the entries of a type, in order. */
export const iterateEntriesOf = selectEach<LedgerEntry, [type: LedgerEntry['type']]>(
  'SELECT * FROM ledger WHERE type = ? ORDER BY seq',
);

export const insertTile = change<[level: number, position: number, hash: Buffer]>(
  'INSERT INTO tiles (level, position, hash) VALUES (?, ?, ?)',
);

/** Returns the hashes of the tiles `from` to `to - 1` of a level, in order. */
export const tileHashes = selectValues<Buffer, [level: number, from: number, to: number]>(
  'SELECT hash FROM tiles WHERE level = ? AND position >= ? AND position < ? ORDER BY position',
);

/** A change of the node's key; `record` is what the ledger recorded. */
export interface KeyChangeRow {
  ledger_entry: number;
  type: 'key.renewed' | 'ledger.rolled_back';
  record: unknown;
}

const KEY_CHANGE = 'ledger_entry, type, record';

interface Stored extends Omit<KeyChangeRow, 'record'> {
  record: string;
}

export function insertKeyChange(database: WriteDatabase, change: KeyChangeRow): void {
  const row = { ...change, record: JSON.stringify(change.record) };
  insert(database, 'key_changes', KEY_CHANGE, row);
}

/** Returns all changes of the key, in ledger order. There are very few. */
export function allKeyChanges(database: ReadDatabase): KeyChangeRow[] {
  const sql = `SELECT ${KEY_CHANGE} FROM key_changes ORDER BY ledger_entry`;
  return all<Stored>(database, sql).map(fromStored);
}

/** Returns a page of key changes, newest first, and their total number. */
export const keyChangesPage = selectPage<Stored, [], KeyChangeRow>(
  { columns: KEY_CHANGE, from: 'key_changes', order: 'ledger_entry DESC' },
  fromStored,
);

function fromStored(row: Stored): KeyChangeRow {
  return { ...row, record: JSON.parse(row.record) as unknown };
}

/** A log for which this node is a witness. `root` is in hex; null before the first checkpoint. */
export interface WitnessedLogRow {
  origin: string;
  key: string;
  added_at: string;
  removed_at: string | null;
  size: number;
  root: string | null;
  /** The newest checkpoint that was cosigned. */
  note: string | null;
  cosigned_at: string | null;
}

/** A request that contradicts what was cosigned before. */
interface RefusalRow {
  id: number;
  origin: string;
  at: string;
  known_size: number;
  known_note: string | null;
  size: number;
  /** The refused checkpoint without its signatures. */
  body: string;
  request: string;
}

interface CosignatureRow {
  witness: string;
  /** The name of the log in the checkpoint that was cosigned. */
  origin: string;
  size: number;
  root: string;
  line: string;
  at: string;
  received_at: string;
}

export const witnessedLog = selectOne<WitnessedLogRow, [origin: string]>(
  'SELECT * FROM witnessed_logs WHERE origin = ?',
);

export const allWitnessedLogs = selectAll<WitnessedLogRow>(
  'SELECT * FROM witnessed_logs WHERE removed_at IS NULL ORDER BY added_at, origin',
);

/** Adds a log, or takes a removed one up again with the state that it had. */
export const insertWitnessedLog = change<[origin: string, key: string, at: string]>(`
  INSERT INTO witnessed_logs (origin, key, added_at) VALUES (?, ?, ?)
  ON CONFLICT (origin) DO UPDATE SET removed_at = NULL, key = excluded.key`);

export function removeWitnessedLog(database: WriteDatabase, origin: string, at: string): void {
  statement(database, 'UPDATE witnessed_logs SET removed_at = ? WHERE origin = ?').run(at, origin);
}

export const setWitnessed = change<
  [state: { origin: string; size: number; root: string; note: string; at: string }]
>(
  'UPDATE witnessed_logs SET size = $size, root = $root, note = $note, cosigned_at = $at WHERE origin = $origin',
);

/** Keeps a refused request, once for each checkpoint, and at most `most` of one log. */
export function insertRefusal(database: WriteDatabase, refusal: Omit<RefusalRow, 'id'>, most: number): void {
  statement(
    database,
    `INSERT INTO witness_refusals (origin, at, known_size, known_note, size, body, request)
     SELECT $origin, $at, $known_size, $known_note, $size, $body, $request
     WHERE (SELECT count(*) FROM witness_refusals WHERE origin = $origin) < $most
     ON CONFLICT (origin, body) DO NOTHING`,
  ).run({ ...refusal, most });
}

/** Returns a page of refused requests, newest first, and their total number. */
export function refusalsPage(database: ReadDatabase, place: Place): Slice<RefusalRow> {
  return page(database, { columns: '*', from: 'witness_refusals', order: 'id DESC' }, place);
}

export function insertCosignature(database: WriteDatabase, cosignature: CosignatureRow): void {
  const shape = { key: 'witness, size', columns: 'origin, root, line, at, received_at' };
  upsert(database, 'cosignatures', shape, cosignature);
}

/** Returns the newest cosignature of a witness. */
export const newestCosignature = selectOne<CosignatureRow, [witness: string]>(
  'SELECT * FROM cosignatures WHERE witness = ? ORDER BY size DESC LIMIT 1',
);

/** Returns the cosignatures of the checkpoint of this name, size and root. */
export const cosignaturesOf = selectAll<
  CosignatureRow,
  [checkpoint: { origin: string; size: number; root: string }]
>('SELECT * FROM cosignatures WHERE size = $size AND root = $root AND origin = $origin ORDER BY witness');

/** Returns the sizes of the newest and the oldest checkpoint of this name over at least `size` entries that a witness cosigned. */
export function cosignedSizes(database: ReadDatabase, size: number, origin: string): number[] {
  const sql =
    'SELECT max(size) AS newest, min(size) AS oldest FROM cosignatures WHERE size >= ? AND origin = ?';
  const found = one<{ newest: number | null; oldest: number | null }>(database, sql, size, origin);
  return [found?.newest, found?.oldest].filter((each) => typeof each === 'number');
}

/**
 * Describes what authorities and witnesses have said so far, and what this node cosigned. The text changes whenever that
 * does; it is empty where there is nothing.
 */
export function proofsState(database: ReadDatabase): string {
  const row = statement<Record<string, number | null>>(
    database,
    `SELECT (SELECT count(*) FROM timestamps) AS timestamps,
       (SELECT max(size) FROM cosignatures) AS cosigned,
       (SELECT count(*) FROM cosignatures WHERE size = (SELECT max(size) FROM cosignatures)) AS witnesses,
       (SELECT count(*) + sum(size) FROM witnessed_logs) AS witnessed,
       (SELECT max(id) FROM witness_refusals) AS refused`,
  ).get();
  const counts = Object.values(row ?? {});
  return counts.some(Boolean) ? counts.map((value) => value ?? 0).join(' ') : '';
}

/** A timestamp as the list shows it. `root` is in hex. */
interface TimestampRow {
  id: string;
  authority: string;
  at: string;
  size: number;
  root: string;
  serial: string;
}

/** A timestamp with what proves it. */
export interface StoredTimestamp extends TimestampRow {
  received_at: string;
  text: string;
  reply: Buffer;
}

export const insertTimestamp = inserts<StoredTimestamp>(
  'timestamps',
  'id, authority, at, received_at, size, root, serial, text, reply',
);

/** Returns a page of timestamps, newest first, and their total number. */
export function timestampsPage(database: ReadDatabase, place: Place): Slice<TimestampRow> {
  const columns = 'id, authority, at, size, root, serial';
  return page(database, { columns, from: 'timestamps', order: 'size DESC, at DESC, id' }, place);
}

export const timestampById = selectOne<StoredTimestamp, [id: string]>(
  'SELECT * FROM timestamps WHERE id = ?',
);

/** Returns the newest timestamp of an authority: the size it covers, and when it arrived. */
export const newestOfAuthority = selectOne<
  Pick<StoredTimestamp, 'size' | 'received_at'>,
  [authority: string]
>('SELECT size, received_at FROM timestamps WHERE authority = ? ORDER BY received_at DESC LIMIT 1');

/** Iterates over all timestamps, smallest ledger first. */
export const iterateTimestamps = selectEach<StoredTimestamp>(
  'SELECT * FROM timestamps ORDER BY size, at, id',
);

/** Returns the earliest timestamp of each authority over a ledger that holds entry `seq`; of one second, that of the smallest ledger. */
export function earliestTimestamps(database: ReadDatabase, seq: number): StoredTimestamp[] {
  const rows = statement<StoredTimestamp>(
    database,
    `SELECT * FROM timestamps AS found WHERE size >= $seq AND NOT EXISTS (
       SELECT 1 FROM timestamps AS earlier
       WHERE earlier.authority = found.authority AND earlier.size >= $seq AND (earlier.at, earlier.size, earlier.id) < (found.at, found.size, found.id))
     ORDER BY at, size, id`,
  );
  return rows.all({ seq });
}

/** What an entry is about: the title of a pack, study or subject, or the name of a source. */
export interface EntryTitleRow {
  seq: number;
  title: string | null;
  /** Only of an event. */
  event_type: EventType | null;
  /** Only of retrievals: how many the entry covers. */
  retrievals: number | null;
}

const PACK_TITLE = `SELECT r.record ->> 'title' FROM packs p JOIN pack_records r USING (ledger_entry) WHERE p.id =`;
const SOURCE_NAME = `SELECT coalesce(nullif(s.name, ''), s.url) FROM sources s WHERE`;

/** Returns the titles of the entries `from` to `from + limit - 1`, in order. A finding has none: it may be sealed or withheld. */
export const titlesFrom = selectAll<EntryTitleRow, [from: number, limit: number]>(
  `SELECT l.seq, e.event_type, b.last - b.first + 1 AS retrievals,
    CASE l.type
      WHEN 'pack.added' THEN (${PACK_TITLE} l.subject)
      WHEN 'pack.flagged' THEN (${PACK_TITLE} l.subject)
      WHEN 'pack.deposited' THEN (${PACK_TITLE} l.subject)
      WHEN 'study.created' THEN (SELECT title FROM studies WHERE id = l.subject)
      WHEN 'study.status' THEN (SELECT title FROM studies WHERE id = l.subject)
      WHEN 'node.created' THEN (SELECT title FROM nodes WHERE path = l.subject)
      WHEN 'comment.added' THEN (SELECT coalesce((${PACK_TITLE} c.item), (SELECT title FROM studies WHERE id = c.item))
        FROM comments c WHERE c.ledger_entry = l.seq)
      WHEN 'source.added' THEN (${SOURCE_NAME} s.id = l.subject)
      WHEN 'source.changed' THEN (${SOURCE_NAME} s.id = l.subject)
      WHEN 'event.recorded' THEN (${SOURCE_NAME} s.key = e.source_key)
      WHEN 'page.captured' THEN (${SOURCE_NAME} s.key = (SELECT source_key FROM page_captures p WHERE p.ledger_entry = l.seq))
      WHEN 'page.handed_in' THEN (${SOURCE_NAME} s.key = (SELECT source_key FROM hand_ins h WHERE h.ledger_entry = l.seq))
    END AS title
  FROM (SELECT * FROM ledger WHERE seq >= ? ORDER BY seq LIMIT ?) l
  LEFT JOIN events e ON l.type = 'event.recorded' AND e.ledger_entry = l.seq
  LEFT JOIN retrieval_batches b ON l.type = 'retrievals.recorded' AND b.ledger_entry = l.seq
  ORDER BY l.seq`,
);
