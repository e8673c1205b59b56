import { type ReadDatabase, statement } from '../engine/open.ts';
import { entryAt, lastEntry } from '../node/ledger.ts';

export interface AddedPack {
  ledger_entry: number;
  id: string;
  supersedes: string | null;
  replicates: string | null;
}

/** The packs that were recorded from this entry on, in the order of the ledger. */
export function packsAddedFrom(database: ReadDatabase, entry: number, limit: number): AddedPack[] {
  return statement<AddedPack>(
    database,
    `SELECT ledger_entry, id, supersedes, replicates FROM packs WHERE ledger_entry >= ?
     ORDER BY ledger_entry LIMIT ?`,
  ).all(entry, limit);
}

/** The last entry that changed what is said of a pack: its own, or that of a pack that supersedes or replicates it. */
export function lastChangeOf(database: ReadDatabase, id: string): number | undefined {
  const row = statement<{ entry: number | null }>(
    database,
    `SELECT max(entry) AS entry FROM (
       SELECT ledger_entry AS entry FROM packs WHERE id = $id
       UNION ALL SELECT max(ledger_entry) FROM packs WHERE supersedes = $id
       UNION ALL SELECT max(ledger_entry) FROM packs WHERE replicates = $id)`,
  ).get({ id });
  return row?.entry ?? undefined;
}

/** What a pack's record says that sets are made of. */
export function setFieldsOf(
  database: ReadDatabase,
  id: string,
): { license: string; node: string | null } | undefined {
  return statement<{ license: string; node: string | null }>(
    database,
    `SELECT record ->> '$.license' AS license, record ->> '$.node' AS node FROM pack_records
     WHERE ledger_entry = (SELECT ledger_entry FROM packs WHERE id = ?)`,
  ).get(id);
}

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
