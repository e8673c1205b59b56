import type { EventType } from '../../../../shared/collection/event.ts';
import type { LedgerEntry } from '../../../../shared/ledger/ledger.ts';
import type { ReadDatabase, WriteDatabase } from '../engine/open.ts';
import {
  change,
  inserts,
  selectAll,
  selectEach,
  selectOne,
  selectPage,
  selectValues,
  updates,
  upserts,
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
  insertChange(database, { ...change, record: JSON.stringify(change.record) });
}

const insertChange = inserts<Stored>('key_changes', KEY_CHANGE);

/** Returns all changes of the key, in ledger order. There are very few. */
export const allKeyChanges = selectAll<Stored, [], KeyChangeRow>(
  `SELECT ${KEY_CHANGE} FROM key_changes ORDER BY ledger_entry`,
  fromStored,
);

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

export const removeWitnessedLog = updates<{ origin: string; removed_at: string }>('witnessed_logs', {
  key: 'origin',
  columns: 'removed_at',
});

export const setWitnessed = change<
  [state: { origin: string; size: number; root: string; note: string; at: string }]
>(
  'UPDATE witnessed_logs SET size = $size, root = $root, note = $note, cosigned_at = $at WHERE origin = $origin',
);

/** Keeps a refused request, once for each checkpoint, and at most `most` of one log. */
export const insertRefusal = change<[refusal: Omit<RefusalRow, 'id'> & { most: number }]>(`
  INSERT INTO witness_refusals (origin, at, known_size, known_note, size, body, request)
  SELECT $origin, $at, $known_size, $known_note, $size, $body, $request
  WHERE (SELECT count(*) FROM witness_refusals WHERE origin = $origin) < $most
  ON CONFLICT (origin, body) DO NOTHING`);

/** Returns a page of refused requests, newest first, and their total number. */
export const refusalsPage = selectPage<RefusalRow>({
  columns: '*',
  from: 'witness_refusals',
  order: 'id DESC',
});

export const insertCosignature = upserts<CosignatureRow>('cosignatures', {
  key: 'witness, size',
  columns: 'origin, root, line, at, received_at',
});

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
  const found = cosignedBetween(database, size, origin);
  return [found?.newest, found?.oldest].filter((each) => typeof each === 'number');
}

const cosignedBetween = selectOne<
  { newest: number | null; oldest: number | null },
  [size: number, origin: string]
>('SELECT max(size) AS newest, min(size) AS oldest FROM cosignatures WHERE size >= ? AND origin = ?');

/**
 * Describes what authorities and witnesses have said so far, and what this node cosigned. The text changes whenever that
 * does; it is empty where there is nothing.
 */
export function proofsState(database: ReadDatabase): string {
  const counts = Object.values(proofCounts(database) ?? {});
  return counts.some(Boolean) ? counts.map((value) => value ?? 0).join(' ') : '';
}

const proofCounts = selectOne<Record<string, number | null>>(`
  SELECT (SELECT count(*) FROM timestamps) AS timestamps,
    (SELECT max(size) FROM cosignatures) AS cosigned,
    (SELECT count(*) FROM cosignatures WHERE size = (SELECT max(size) FROM cosignatures)) AS witnesses,
    (SELECT count(*) + sum(size) FROM witnessed_logs) AS witnessed,
    (SELECT max(id) FROM witness_refusals) AS refused`);

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
export const timestampsPage = selectPage<TimestampRow>({
  columns: 'id, authority, at, size, root, serial',
  from: 'timestamps',
  order: 'size DESC, at DESC, id',
});

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

/**
 * Returns the earliest timestamp of each authority over a ledger that holds entry `seq`; of one second, that of the smallest
 * ledger. Of more authorities than an evidence file may have, those that stamped first.
 */
export const earliestTimestamps = selectAll<StoredTimestamp, [{ seq: number }]>(`
  SELECT * FROM timestamps AS found WHERE size >= $seq AND NOT EXISTS (
    SELECT 1 FROM timestamps AS earlier
    WHERE earlier.authority = found.authority AND earlier.size >= $seq AND (earlier.at, earlier.size, earlier.id) < (found.at, found.size, found.id))
  ORDER BY at, size, id LIMIT 100`);

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
