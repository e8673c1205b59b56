import type { WriteDatabase } from '../engine/open.ts';
import {
  change,
  hasRow,
  inserts,
  selectAll,
  selectOne,
  selectValue,
  selectValues,
} from '../engine/queries.ts';
import { coverJoined } from '../node/covered.ts';
import { isAlsoElsewhereSql, joinedFromElsewhere } from '../node/peerOrigins.ts';

/** The size of a set. `ledger_entry` is that of its manifest pack. */
interface SetRow {
  ledger_entry: number;
  files: number;
  packs: number;
  bytes: number;
}

const insertRow = inserts<SetRow>('sets', 'ledger_entry, files, packs, bytes');
const insertParts = change<[manifest: number, packs: readonly string[]]>(
  'INSERT OR IGNORE INTO set_parts (part, manifest) SELECT value, ? FROM json_each(?)',
);

/**
 * Inserts what a manifest says of its set: its size, and its parts. Those that do not say so themselves become parts of it
 * by this, which takes them out of lists and out of their study. The owner can do that to any pack, and the owner of
 * another archive to those that were mirrored from there with the manifest. `checkNewSet` refuses it to visitors.
 *
 * @param manifest the ledger entry of the manifest, and the id of the set as parts state it
 * @param by who sent the manifest
 * @returns the ledger entries of the packs that became parts
 */
export function insertSet(
  database: WriteDatabase,
  { ledger_entry, id }: { ledger_entry: number; id: string },
  { count: files, bytes, packs, joined }: SetContents,
  by: SaidBy,
): number[] {
  insertRow(database, { ledger_entry, files, packs: packs.length, bytes });
  insertParts(database, ledger_entry, packs);
  joinFiles(database, joined, by);
  return takeIntoSet(database, { id, manifest: ledger_entry });
}

/** What a manifest says of its set. */
export interface SetContents {
  count: number;
  bytes: number;
  packs: readonly string[];
  /** Of the files that are in several parts, each part. */
  joined: readonly JoinedPart[];
}

/** The digest of a file, and that of one of its parts. */
export type JoinedPart = readonly [file: string, part: string];

/**
 * Who says of which parts a file consists: the owner; a peer or the visitors, by the number of their origin; or nobody knows it
 * any more, because the list came with a restored archive.
 */
export type SaidBy = 'owner' | 'unknown' | number;

/**
 * Records of which parts files consist. They are withheld together from then on. What somebody else says ties nothing that
 * this archive has otherwise: such a part is not withheld with the file, and such a file is not withheld with its parts. A
 * file can be made to have any two files of the owner as its parts, also one that nobody may read: who knows the size and
 * the digest of its bytes can compute the digest of what begins with them.
 */
export function joinFiles(database: WriteDatabase, joined: readonly JoinedPart[], by: SaidBy): void {
  if (joined.length === 0) return;
  const pairs = JSON.stringify(joined);
  if (by === 'owner') insertOwners(database, { pairs });
  else if (by === 'unknown') insertUnknown(database, { pairs });
  else insertClaimed(database, { pairs, origin: by });
  coverJoined(database, pairs);
  joinedFromElsewhere(database, { digests: JSON.stringify(joined.flat()) });
}

const insertTies = (ties: string, onConflict: string) =>
  change<[values: { pairs: string; origin?: number }]>(
    `INSERT INTO joined_files (sha256, part, ties)
     SELECT j.value ->> 0, j.value ->> 1, ${ties} FROM json_each($pairs) j WHERE true
     ON CONFLICT DO ${onConflict}`,
  );
const insertOwners = insertTies("'both'", "UPDATE SET ties = 'both'");
const insertUnknown = insertTies("'both'", 'NOTHING');
/** This archive has a file also if it has it in parts. */
const HAS_FILE = `(${isAlsoElsewhereSql('j.value ->> 0')} OR EXISTS (SELECT 1 FROM joined_files known
  WHERE known.sha256 = j.value ->> 0 AND known.ties = 'both' AND ${isAlsoElsewhereSql('known.part')}))`;
const insertClaimed = insertTies(
  `CASE WHEN ${isAlsoElsewhereSql('j.value ->> 1')} THEN 'none' WHEN ${HAS_FILE} THEN 'part' ELSE 'claimed' END`,
  'NOTHING',
);

/** Inserts what a dump says of a part of a file. */
export const insertJoinedFile = inserts<{ sha256: string; part: string; ties: string }>(
  'joined_files',
  'sha256, part, ties',
);

/** Returns the digests of the parts in which a set has a file; none for a file that no set has in parts. */
export const partsOfJoined = selectValues<string, [sha256: string]>(
  'SELECT part FROM joined_files WHERE sha256 = ? ORDER BY part',
);
/** Returns those of them that are withheld and released with the file. */
export const partsTiedTo = selectValues<string, [sha256: string]>(
  "SELECT part FROM joined_files WHERE sha256 = ? AND ties <> 'none' ORDER BY part",
);
export const isJoined = hasRow<[sha256: string]>('SELECT 1 FROM joined_files WHERE sha256 = ?');

const PEER = "record ->> '$.peer.key' FROM pack_provenance WHERE ledger_entry =";

const takeIntoSet = selectValues<number, [{ id: string; manifest: number }]>(`
  UPDATE packs SET part_of = $id, study = NULL
  WHERE part_of IS NULL AND id IN (SELECT part FROM set_parts WHERE manifest = $manifest)
    AND ((SELECT ${PEER} $manifest) IS NULL OR (SELECT ${PEER} packs.ledger_entry) = (SELECT ${PEER} $manifest))
  RETURNING ledger_entry`);

/** Returns the ledger entries of the manifests that name a pack. */
export const manifestsWith = selectValues<number, [part: string]>(
  'SELECT manifest FROM set_parts WHERE part = ? ORDER BY manifest',
);

/** Returns the packs after an entry, and up to another, whose file has the name of a set's list, and whose set is not known. */
export const manifestsNotRead = selectValues<string, [{ file: string; after: number; until: number }]>(`
  SELECT p.id FROM packs p JOIN pack_files f ON f.pack = p.ledger_entry AND f.path = $file
  WHERE p.ledger_entry > $after AND p.ledger_entry <= $until AND p.files = 1
    AND p.ledger_entry NOT IN (SELECT ledger_entry FROM sets) ORDER BY p.ledger_entry`);

/** Returns the size of the set with this manifest, or undefined if it is not known to be one. */
export const setOf = selectOne<SetRow, [manifest: number]>(
  'SELECT ledger_entry, files, packs, bytes FROM sets WHERE ledger_entry = ?',
);

/** Returns the sizes of the sets among these packs. */
export const setsAmong = selectAll<SetRow, [entries: readonly number[]]>(
  'SELECT ledger_entry, files, packs, bytes FROM sets WHERE ledger_entry IN (SELECT value FROM json_each(?))',
);

/** Returns the ids of the sets that have a pack as a part, newest first. */
export const setsWith = selectValues<string, [part: string]>(`
  SELECT p.id FROM set_parts s JOIN packs p ON p.ledger_entry = s.manifest
  WHERE s.part = ? ORDER BY s.manifest DESC`);

/**
 * Whether the withholding of a part that is in force was recorded with that of a set that has the part: right after it, with
 * the same time, the same reason and the same note, as the first of that part since. Any other is that of the part for itself.
 */
export const isWithheldWithSet = hasRow<[values: { part: string }]>(`
  SELECT 1 FROM withheld_targets t CROSS JOIN withholdings own ON own.ledger_entry = t.withholding
    CROSS JOIN set_parts s ON s.part = t.target
    CROSS JOIN sets ON sets.ledger_entry = s.manifest
    CROSS JOIN packs p ON p.ledger_entry = s.manifest
    CROSS JOIN withholdings w ON w.pack = p.id
      AND w.ledger_entry < own.ledger_entry AND w.ledger_entry >= own.ledger_entry - sets.packs
  WHERE t.target = $part AND w.at = own.at AND w.reason = own.reason AND w.note IS own.note
    AND NOT EXISTS (SELECT 1 FROM withholdings earlier WHERE earlier.pack = own.pack
      AND earlier.ledger_entry > w.ledger_entry AND earlier.ledger_entry < own.ledger_entry) LIMIT 1`);

/** Returns the parts of a set that lists leave out, oldest first. */
export const hiddenPartsOfSet = selectValues<string, [manifest: number]>(`
  SELECT p.id FROM set_parts s JOIN packs p ON p.id = s.part
  WHERE s.manifest = ? AND p.part_of IS NOT NULL ORDER BY p.ledger_entry`);

/** Returns the digests of files of the parts of a set that are withheld from visitors or were given up. */
export const unreadableInSet = selectValues<string, [manifest: number]>(`
  SELECT DISTINCT f.sha256
  FROM (SELECT sha256 FROM withheld_objects UNION SELECT sha256 FROM releases) m
    CROSS JOIN pack_files f ON f.sha256 = m.sha256
    CROSS JOIN packs p ON p.ledger_entry = f.pack
    CROSS JOIN set_parts s ON s.part = p.id
  WHERE s.manifest = ?`);

/** Returns the CRC-32s of the files of a set, in the order of their paths; undefined until they are known. */
export const crcsOfSet = selectValue<Buffer, [manifest: number]>(
  'SELECT crcs FROM sets WHERE ledger_entry = ?',
);

export const keepCrcs = change<[crcs: Uint8Array, manifest: number]>(
  'UPDATE sets SET crcs = ? WHERE ledger_entry = ?',
);

/** Returns the size and the digest of the file at a path of a pack, or undefined. */
export const fileOfPack = selectOne<{ sha256: string; bytes: number }, [pack: number, path: string]>(
  'SELECT sha256, bytes FROM pack_files WHERE pack = ? AND path = ?',
);
