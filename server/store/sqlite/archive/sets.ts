import type { WriteDatabase } from '../engine/open.ts';
import { change, inserts, run, selectAll, selectOne, selectValue, selectValues } from '../engine/queries.ts';

/** The size of a set. `ledger_entry` is that of its manifest pack. */
interface SetRow {
  ledger_entry: number;
  files: number;
  packs: number;
  bytes: number;
}

const insertRow = inserts<SetRow>('sets', 'ledger_entry, files, packs, bytes');

/** Inserts what a manifest says of its set: its size, and its parts. */
export function insertSet(
  database: WriteDatabase,
  row: Omit<SetRow, 'packs'>,
  parts: readonly string[],
): void {
  insertRow(database, { ...row, packs: parts.length });
  run(
    database,
    'INSERT OR IGNORE INTO set_parts (part, manifest) SELECT value, ? FROM json_each(?)',
    row.ledger_entry,
    JSON.stringify(parts),
  );
}

/** Returns the size of the set with this manifest, or undefined if it is not known to be one. */
export const setOf = selectOne<SetRow, [manifest: number]>(
  'SELECT ledger_entry, files, packs, bytes FROM sets WHERE ledger_entry = ?',
);

/** Returns the sizes of the sets among these packs. */
export const setsAmong = selectAll<SetRow, [entries: readonly number[]]>(
  'SELECT ledger_entry, files, packs, bytes FROM sets WHERE ledger_entry IN (SELECT value FROM json_each(?))',
);

/** Returns the id of the newest set that has a pack as a part, or undefined. */
export const newestSetWith = selectValue<string, [part: string]>(`
  SELECT p.id FROM set_parts s JOIN packs p ON p.ledger_entry = s.manifest
  WHERE s.part = ? ORDER BY s.manifest DESC LIMIT 1`);

/** Returns the parts of a set that say themselves that they are parts, oldest first. */
export const ownPartsOfSet = selectValues<string, [manifest: number]>(`
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
