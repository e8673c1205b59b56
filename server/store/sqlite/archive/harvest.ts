import type { ReadDatabase } from '../engine/open.ts';
import { countRows, selectAll, selectOne, selectValue } from '../engine/queries.ts';
import { entryAt, lastEntry } from '../node/ledger.ts';

export interface AddedPack {
  ledger_entry: number;
  id: string;
  supersedes: string | null;
  replicates: string | null;
}

/** The packs that a filter of the lists selects: its values in the index, and the number of packs with one of them. */
export interface IndexedSet {
  values: number[];
  packs: number;
}

/** Returns the packs with one value of a filter. */
export function packsWithValue(
  database: ReadDatabase,
  filter: 'license' | 'node',
  value: string,
): IndexedSet {
  return indexedSet(valuesOf(database, filter, value));
}

const valuesOf = selectAll<IndexedValue, [filter: string, value: string]>(
  'SELECT id, packs FROM pack_filter_values WHERE filter = ? AND value = ? AND packs > 0',
);

/** Returns the packs with a subject. Each is indexed below exactly one root of the tree. */
export function packsWithSubject(database: ReadDatabase): IndexedSet {
  return indexedSet(subjectRoots(database));
}

const subjectRoots = selectAll<IndexedValue>(`
  SELECT id, packs FROM pack_filter_values WHERE filter = 'node' AND instr(value, '/') = 0 AND packs > 0`);

interface IndexedValue {
  id: number;
  packs: number;
}

function indexedSet(found: readonly IndexedValue[]): IndexedSet {
  return { values: found.map(({ id }) => id), packs: found.reduce((sum, { packs }) => sum + packs, 0) };
}

/**
 * A pack that became a part is listed no more, but what it supersedes or replicates is listed at its entry. The index has the
 * others only: a set may have 100,000 parts.
 */
const ADDED = `SELECT p.ledger_entry, p.id, p.supersedes, p.replicates
  FROM packs p INDEXED BY packs_to_harvest WHERE p.ledger_entry >= $entry
  AND (p.part_of IS NULL OR p.supersedes IS NOT NULL OR p.replicates IS NOT NULL)`;
const IN_ORDER = 'ORDER BY p.ledger_entry LIMIT $limit';
/** Packs whose metadata a deposit changes. Each part is limited by itself, so that neither is read as a whole. */
const withDeposits = (added: string) => `SELECT * FROM (${added}) UNION ALL SELECT * FROM (
  SELECT d.ledger_entry, d.pack AS id, NULL, NULL FROM pack_deposits d JOIN packs p ON p.id = d.pack
  WHERE d.ledger_entry >= $entry AND p.part_of IS NULL ORDER BY d.ledger_entry LIMIT $limit)
  ORDER BY ledger_entry LIMIT $limit`;
const IS_VALUE = 'f.value IN (SELECT value FROM json_each($values))';

/** Up to this many packs, reading the whole set is faster than checking each pack in the order of the ledger. */
const FEW = 5_000;

/**
 * Returns the packs added or deposited from this entry on, in the order of the ledger. With a set, of those added only
 * those that are in it, or that supersede or replicate a pack in it.
 */
export function packsAddedFrom(
  database: ReadDatabase,
  entry: number,
  limit: number,
  set: IndexedSet | undefined,
): AddedPack[] {
  if (set === undefined) return addedFrom(database, { entry, limit });
  const added = set.packs <= FEW ? addedInFew : addedInMany;
  return added(database, { entry, limit, values: JSON.stringify(set.values) });
}

const addedFrom = selectAll<AddedPack, [place: { entry: number; limit: number }]>(
  withDeposits(`${ADDED} ${IN_ORDER}`),
);

type OfSet = [place: { entry: number; limit: number; values: string }];

const addedInFew = selectAll<AddedPack, OfSet>(
  withDeposits(`${ADDED} AND p.ledger_entry IN (
  SELECT f.pack FROM pack_filters f WHERE ${IS_VALUE}
  UNION SELECT n.ledger_entry FROM pack_filters f JOIN packs o ON o.ledger_entry = f.pack
    JOIN packs n ON n.supersedes = o.id WHERE ${IS_VALUE}
  UNION SELECT n.ledger_entry FROM pack_filters f JOIN packs o ON o.ledger_entry = f.pack
    JOIN packs n ON n.replicates = o.id WHERE ${IS_VALUE}) ${IN_ORDER}`),
);

const addedInMany = selectAll<AddedPack, OfSet>(
  withDeposits(`${ADDED} AND (
  EXISTS (SELECT 1 FROM pack_filters f WHERE ${IS_VALUE} AND f.pack = p.ledger_entry)
  OR EXISTS (SELECT 1 FROM packs o CROSS JOIN pack_filters f
    WHERE o.id IN (p.supersedes, p.replicates) AND ${IS_VALUE} AND f.pack = o.ledger_entry)) ${IN_ORDER}`),
);

/** The last entry that changed what is said of a pack: its own, that of a deposit, or of one that supersedes or replicates it. */
export function lastChangeOf(database: ReadDatabase, id: string): number | undefined {
  return lastChange(database, { id });
}

const lastChange = selectValue<number, [{ id: string }]>(`
  SELECT max(entry) FROM (
    SELECT ledger_entry AS entry FROM packs WHERE id = $id
    UNION ALL SELECT max(ledger_entry) FROM packs WHERE supersedes = $id
    UNION ALL SELECT max(ledger_entry) FROM packs WHERE replicates = $id
    UNION ALL SELECT max(ledger_entry) FROM pack_deposits WHERE pack = $id)`);

/** The fields of a pack's record from which its sets follow, and the record's size in bytes. */
interface SetFields {
  license: string;
  node: string | null;
  bytes: number;
  /** The set that it is a part of. */
  part_of: string | null;
}

export const setFieldsOf = selectOne<SetFields, [id: string]>(`
  SELECT r.record ->> '$.license' AS license, r.record ->> '$.node' AS node, p.record_bytes AS bytes, p.part_of
  FROM packs p JOIN pack_records r USING (ledger_entry) WHERE p.id = ?`);

/** The first entry that is not before this instant; one after the last where all are. Instants in the ledger never go back. */
export function firstEntryFrom(database: ReadDatabase, instant: string): number {
  let low = 1;
  let high = (lastEntry(database)?.seq ?? 0) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((entryAt(database, middle)?.at ?? '') >= instant) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** A pack or a study, and when the ledger last recorded a change of its page. */
interface SitemapItem {
  entry: number;
  id: string;
  at: string;
}

/** Packs that are parts of sets are left out. */
const PACKS = '(SELECT * FROM packs INDEXED BY packs_that_are_no_parts WHERE part_of IS NULL)';

export type SitemapKind = 'packs' | 'studies';

export function countItems(database: ReadDatabase, kind: SitemapKind): number {
  return COUNTS[kind](database);
}

const COUNTS = { packs: countRows(PACKS), studies: countRows('studies') };

/** Returns the ledger entry of the item at this place in the order of the ledger, counted from 0. */
export function entryAtPlace(database: ReadDatabase, kind: SitemapKind, place: number): number | undefined {
  return ENTRIES[kind](database, place);
}

const entryOf = (table: string) =>
  selectValue<number, [place: number]>(
    `SELECT ledger_entry FROM ${table} ORDER BY ledger_entry LIMIT 1 OFFSET ?`,
  );
const ENTRIES = { packs: entryOf(PACKS), studies: entryOf('studies') };

/** Returns the items from this entry on, in the order of the ledger. */
export function sitemapItems(
  database: ReadDatabase,
  kind: SitemapKind,
  { from, limit }: { from: number; limit: number },
): SitemapItem[] {
  return ITEMS[kind](database, from, limit);
}

/** @param lastChange the last entry that changed the page: of the pack, its deposit, one that supersedes or replicates it, or the study's status */
const itemsOf = (table: string, lastChange: string) =>
  selectAll<SitemapItem, [from: number, limit: number]>(
    `SELECT i.ledger_entry AS entry, i.id, l.at FROM ${table} i JOIN ledger l ON l.seq = ${lastChange}
     WHERE i.ledger_entry >= ? ORDER BY i.ledger_entry LIMIT ?`,
  );
const ITEMS = {
  packs: itemsOf(
    PACKS,
    `max(i.ledger_entry,
      coalesce((SELECT max(ledger_entry) FROM packs WHERE supersedes = i.id), 0),
      coalesce((SELECT max(ledger_entry) FROM packs WHERE replicates = i.id), 0),
      coalesce((SELECT max(ledger_entry) FROM pack_deposits WHERE pack = i.id), 0))`,
  ),
  studies: itemsOf(
    'studies',
    `max(i.ledger_entry,
      coalesce((SELECT max(ledger_entry) FROM study_statuses WHERE study = i.id), 0),
      coalesce((SELECT max(ledger_entry) FROM packs WHERE study = i.id), 0))`,
  ),
};
