import type { Pack, PackRecord } from '../../../shared/pack.ts';
import { Problem } from '../../../shared/problems.ts';
import { VERDICTS, type Verdict } from '../../../shared/vocabulary.ts';
import {
  type FlagRow,
  flagsOf,
  type PackRow,
  packById,
  packsByEntry,
  type ReplicationRow,
  recordTexts,
  replicationsOf,
  superseders,
} from '../../store/sqlite/archive/packs.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';

/** @throws Problem `not_found` */
export function requirePack(database: ReadDatabase, id: string): PackRow {
  const row = packById(database, id);
  if (!row) throw new Problem('not_found', `There is no pack ${id} here.`);
  return row;
}

/**
 * A pack as JSON text: what the archive adds, then the record's own text as it is stored, byte for byte. No value of the
 * record passes through an object on its way out, so none can be changed by it.
 *
 * @throws Problem `not_found`
 */
export function readPackText(database: ReadDatabase, id: string): string {
  const [text = ''] = packTexts(database, [requirePack(database, id).ledger_entry]);
  return text;
}

/**
 * The same of a pack that was recorded in this transaction, whose record has this text: nobody can have named it yet, so
 * that only its row is read.
 */
export function newPackText(database: ReadDatabase, id: string, record: string): string {
  return textOf(openingOf(requirePack(database, id), NOTHING_SAID), record);
}

/** A pack as a value, for what computes with it. @throws Problem `not_found` */
export function readPack(database: ReadDatabase, id: string): Pack {
  return JSON.parse(readPackText(database, id)) as Pack;
}

/** Records are read in batches of about this many bytes, so that a page of the largest packs is never held whole. */
const BATCH_BYTES = 2_097_152;

/** The packs of these ledger entries as JSON texts, in this order. */
export function* packTexts(database: ReadDatabase, entries: readonly number[]): Generator<string> {
  const derived = derivedFields(database, packsByEntry(database, entries));
  let batch: number[] = [];
  let bytes = 0;
  for (const entry of entries) {
    batch.push(entry);
    bytes += derived.get(entry)?.recordBytes ?? 0;
    if (bytes < BATCH_BYTES) continue;
    yield* joined(database, derived, batch);
    batch = [];
    bytes = 0;
  }
  yield* joined(database, derived, batch);
}

interface Derived {
  /** The JSON text of what the archive adds, without its closing brace. */
  opening: string;
  recordBytes: number;
}

function* joined(
  database: ReadDatabase,
  derived: ReadonlyMap<number, Derived>,
  entries: readonly number[],
): Generator<string> {
  if (entries.length === 0) return;
  const records = new Map(
    recordTexts(database, entries).map(({ ledger_entry, record }) => [ledger_entry, record] as const),
  );
  for (const entry of entries) {
    const record = records.get(entry);
    if (record !== undefined) yield textOf(derived.get(entry)?.opening ?? '', record);
  }
}

function textOf(opening: string, record: string): string {
  return `${opening},${record.slice(1)}`;
}

/** What the archive adds to each record, asked for all packs at once. */
function derivedFields(database: ReadDatabase, rows: readonly PackRow[]): Map<number, Derived> {
  const ids = rows.map(({ id }) => id);
  const replications = Map.groupBy(replicationsOf(database, ids), ({ original }) => original);
  const newer = new Map(
    superseders(database, ids).map(({ superseded, pack }) => [superseded, pack] as const),
  );
  const flags = Map.groupBy(flagsOf(database, ids), ({ pack }) => pack);
  return new Map(
    rows.map((row) => {
      const opening = openingOf(row, {
        replications: replications.get(row.id) ?? [],
        newer: newer.get(row.id) ?? null,
        flags: flags.get(row.id) ?? [],
      });
      return [row.ledger_entry, { opening, recordBytes: row.record_bytes }] as const;
    }),
  );
}

/** What others have said of a pack since it came. */
interface Said {
  replications: readonly ReplicationRow[];
  newer: string | null;
  flags: readonly FlagRow[];
}

const NOTHING_SAID: Said = { replications: [], newer: null, flags: [] };

function openingOf(row: PackRow, { replications, newer, flags }: Said): string {
  const count = (verdict: Verdict) => replications.filter((each) => each.verdict === verdict).length;
  const fields = {
    id: row.id,
    digest: row.digest,
    tag: row.tag,
    replications: replications.map(({ pack, verdict, received_at }) => ({ pack, verdict, received_at })),
    evidence: {
      received_at: row.received_at,
      bytes: row.bytes,
      files: row.files,
      ...(Object.fromEntries(VERDICTS.map((verdict) => [verdict, count(verdict)])) as Record<
        Verdict,
        number
      >),
      superseded_by: newer,
    },
    flags: flags.map(({ reason, note, at }) => ({ reason, note, at })),
    original_had_method: row.original_had_method === null ? null : row.original_had_method === 1,
    ledger_entry: row.ledger_entry,
  };
  return JSON.stringify(fields satisfies Omit<Pack, keyof PackRecord>).slice(0, -1);
}
