import type { FoundDigest } from '../../../shared/archive/citation.ts';
import type { Pack, PackRecord, PacksQuery } from '../../../shared/archive/pack.ts';
import { VERDICTS, type Verdict } from '../../../shared/archive/vocabulary.ts';
import { Problem } from '../../../shared/problems.ts';
import { isDigest } from '../../../shared/values/digest.ts';
import { foldedText } from '../../../shared/values/text.ts';
import { publishedDepositsOf } from '../../store/sqlite/archive/deposits.ts';
import {
  type PackFilter,
  type PackFilterName,
  type PackOrder,
  selectPacks,
} from '../../store/sqlite/archive/packLists.ts';
import {
  type FlagRow,
  filesOfPack,
  flagsOf,
  type PackRow,
  packById,
  packsByEntry,
  packsWithBlob,
  type ReplicationRow,
  recordTexts,
  replicationsOf,
  supersededPacks,
  superseders,
} from '../../store/sqlite/archive/packs.ts';
import { setOf, setsAmong, setsWith, unreadableInSet } from '../../store/sqlite/archive/sets.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { onSnapshot } from '../../store/sqlite/engine/queries.ts';
import { approximateExpression, matchExpression } from '../../store/sqlite/engine/search.ts';
import { blobRow, findDigests } from '../../store/sqlite/node/blobs.ts';
import type { Store } from '../../store/store.ts';
import { marksOf, unreadableAmong, VISITOR } from '../../withholding/withholding.ts';

/** @throws Problem `not_found` */
export function requirePack(database: ReadDatabase, id: string): PackRow {
  const row = packById(database, id);
  if (!row) throw new Problem('not_found', `There is no pack ${id}.`);
  return row;
}

/**
 * Returns a pack as JSON text: the fields that the archive adds, then the stored text of the record, byte for byte. The
 * record is not parsed and serialized, so no value in it can change.
 *
 * @throws Problem `not_found`
 */
export function readPackText(database: ReadDatabase, id: string): string {
  const [text = ''] = packTexts(database, [requirePack(database, id).ledger_entry]);
  return text;
}

/**
 * Returns the same with the files whose bytes are withheld from visitors or were given up, and with the published deposits.
 * They are listed in `evidence`, which no fingerprint covers.
 *
 * @throws Problem `not_found`
 */
export function readMarkedPackText(database: ReadDatabase, id: string): string {
  const row = requirePack(database, id);
  const [text = ''] = packTexts(database, [row.ledger_entry], marksOfPack(database, row));
  return text;
}

/** Returns the digests of all files of a pack. */
export function digestsOfPack(
  database: ReadDatabase,
  { ledger_entry }: Pick<PackRow, 'ledger_entry'>,
): string[] {
  return filesOfPack(database, ledger_entry).map(({ sha256 }) => sha256);
}

/** What only a single pack says: the files that cannot be read by everyone, where it was deposited, and the set that it is a part of. */
type PackMarks = Pick<Pack['evidence'], 'withheld' | 'released' | 'deposits' | 'part_of'>;

function marksOfPack(database: ReadDatabase, row: PackRow): PackMarks {
  const digests = digestsOfPack(database, row);
  const unreadable = new Set([
    ...unreadableAmong(database, digests, VISITOR),
    ...unreadableInSet(database, row.ledger_entry),
  ]);
  const marked = [...unreadable].sort().map((sha256) => ({
    sha256,
    ...marksOf(database, sha256),
  }));
  const listed = (mark: 'withheld' | 'released') =>
    marked.flatMap(({ sha256, [mark]: why }) => (why ? [{ sha256, ...why }] : []));
  const [withheld, released] = [listed('withheld'), listed('released')];
  const deposits = publishedDepositsOf(database, row.id);
  const set = row.part_of === null ? undefined : setsWith(database, row.id)[0];
  return {
    ...(withheld.length > 0 && { withheld }),
    ...(released.length > 0 && { released }),
    ...(deposits.length > 0 && { deposits }),
    ...(set !== undefined && { part_of: set }),
  } as PackMarks;
}

/**
 * Returns the same for a pack that was recorded in this transaction. Nothing can refer to it yet, so only its row is read.
 */
export function newPackText(database: ReadDatabase, id: string, record: string): string {
  const row = requirePack(database, id);
  const version = versionsOf(database, [row])(id);
  const set = setOf(database, row.ledger_entry);
  return textOf(openingOf(row, { ...NO_REFERENCES, version, set }), record);
}

/** Returns a pack as a parsed value. @throws Problem `not_found` */
export function readPack(database: ReadDatabase, id: string): Pack {
  return JSON.parse(readPackText(database, id)) as Pack;
}

/** Records are read in batches of about this size, so that a page of the largest packs is never in memory. */
const BATCH_BYTES = 2_097_152;

/** Generates the JSON texts of the packs with these ledger entries, in this order. */
export function* packTexts(
  database: ReadDatabase,
  entries: readonly number[],
  marks: PackMarks = {},
): Generator<string> {
  const derived = derivedFields(database, packsByEntry(database, entries), marks);
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
  /** The JSON text of the fields that the archive adds, without the closing brace. */
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

/** Returns the fields that the archive adds to each record, with one query per kind for all packs. */
function derivedFields(
  database: ReadDatabase,
  rows: readonly PackRow[],
  marks: PackMarks,
): Map<number, Derived> {
  const ids = rows.map(({ id }) => id);
  const replications = Map.groupBy(replicationsOf(database, ids), ({ original }) => original);
  const newer = new Map(
    superseders(database, ids).map(({ superseded, pack }) => [superseded, pack] as const),
  );
  const flags = Map.groupBy(flagsOf(database, ids), ({ pack }) => pack);
  const versionOf = versionsOf(database, rows);
  const sets = new Map(
    setsAmong(
      database,
      rows.map(({ ledger_entry }) => ledger_entry),
    ).map((set) => [set.ledger_entry, set]),
  );
  return new Map(
    rows.map((row) => {
      const opening = openingOf(row, {
        replications: replications.get(row.id) ?? [],
        newer: newer.get(row.id) ?? null,
        flags: flags.get(row.id) ?? [],
        version: versionOf(row.id),
        set: sets.get(row.ledger_entry),
        marks,
      });
      return [row.ledger_entry, { opening, recordBytes: row.record_bytes }] as const;
    }),
  );
}

/** Returns a function that returns the version of one of these packs: 1, or one more than that of the pack it supersedes. */
function versionsOf(database: ReadDatabase, rows: readonly PackRow[]): (id: string) => number {
  const later = rows.filter(({ supersedes }) => supersedes !== null).map(({ id }) => id);
  if (later.length === 0) return () => 1;
  const earlier = new Map(supersededPacks(database, later).map(({ id, supersedes }) => [id, supersedes]));
  const known = new Map<string, number>();
  return (id) => {
    const path: string[] = [];
    let at: string | undefined = id;
    while (at !== undefined && !known.has(at)) {
      path.push(at);
      at = earlier.get(at);
    }
    let version = at === undefined ? 0 : (known.get(at) ?? 0);
    for (const each of path.toReversed()) known.set(each, (version += 1));
    return known.get(id) ?? 1;
  };
}

/** What other packs say about a pack. */
interface References {
  replications: readonly ReplicationRow[];
  newer: string | null;
  flags: readonly FlagRow[];
  version: number;
  set: Pack['evidence']['set'] | undefined;
  marks: PackMarks;
}

const NO_REFERENCES: References = {
  replications: [],
  newer: null,
  flags: [],
  version: 1,
  set: undefined,
  marks: {},
};

function openingOf(row: PackRow, { replications, newer, flags, version, set, marks }: References): string {
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
      version,
      superseded_by: newer,
      ...(set && { set: { files: set.files, packs: set.packs, bytes: set.bytes } }),
      ...marks,
    },
    flags: flags.map(({ reason, note, at }) => ({ reason, note, at })),
    original_had_method: row.original_had_method === null ? null : row.original_had_method === 1,
    ledger_entry: row.ledger_entry,
  };
  return JSON.stringify(fields satisfies Omit<Pack, keyof PackRecord>).slice(0, -1);
}

/** One page of packs: their JSON texts (read lazily), their number, and the total number of matches. */
interface PackPage {
  texts: Iterable<string>;
  count: number;
  total: number;
}

export function listPacks({ read }: Pick<Store, 'read'>, query: PacksQuery): PackPage {
  const order = query.sort.replace(/^-/, '') as PackOrder;
  const { entries, total } = onSnapshot(read, () =>
    selectPacks(read, {
      filters: filtersOf(query),
      match: query.q === undefined ? undefined : matchExpression(query.q),
      rough: query.q === undefined ? undefined : approximateExpression(query.q),
      order,
      withParts: query.parts === true,
      descending: query.sort.startsWith('-'),
      limit: query.limit,
      offset: query.offset,
    }),
  );
  return { texts: packTexts(read, entries), count: entries.length, total };
}

const EXACT = ['node', 'study', 'outcome', 'license', 'tag', 'verdict', 'replicates'] as const;
const FOLDED = ['author', 'keyword'] as const;

function filtersOf(query: PacksQuery): PackFilter[] {
  const filters: PackFilter[] = [];
  const add = (filter: PackFilterName, value: string | undefined) => {
    if (value !== undefined) filters.push({ filter, value });
  };
  for (const name of EXACT) add(name, query[name]);
  for (const name of FOLDED) add(name, query[name] === undefined ? undefined : foldedText(query[name]));
  add('flagged', query.flagged === undefined ? undefined : String(query.flagged));
  return filters;
}

/** A blob of the archive and the path of its file. */
interface ReadableBlob {
  file: string;
  sha256: string;
  bytes: number;
  storedAt: string;
}

/** @throws Problem `invalid_digest`, `not_found` */
export function readBlob({ read, blobs }: Pick<Store, 'read' | 'blobs'>, sha256: string): ReadableBlob {
  if (!isDigest(sha256)) {
    throw new Problem('invalid_digest', 'The digest of a blob must be 64 lowercase hex digits.');
  }
  const row = blobRow(read, sha256);
  if (!row) throw new Problem('not_found', 'The archive has no blob with this digest.');
  return { file: blobs.fileOf(sha256), sha256, bytes: row.bytes, storedAt: row.stored_at };
}

/** Returns where the archive has each of these digests; those that it does not have are left out. */
export function lookUpDigests({ read }: Pick<Store, 'read'>, digests: readonly string[]): FoundDigest[] {
  return findDigests(read, digests).map(({ sha256, bytes, pack, path, source, url }) => ({
    sha256,
    bytes,
    pack: pack !== null && path !== null ? { id: pack, path } : null,
    source: source !== null && url !== null ? { id: source, url } : null,
  }));
}

/** A blob in more packs has no links to them. */
const MAX_LINKED_PACKS = 5;

/** Returns the ids of the packs with this blob, oldest first; none if there are more than a few. */
export function packsOfBlob({ read }: Pick<Store, 'read'>, sha256: string): string[] {
  const packs = packsWithBlob(read, sha256, MAX_LINKED_PACKS + 1);
  return packs.length > MAX_LINKED_PACKS ? [] : packs;
}
