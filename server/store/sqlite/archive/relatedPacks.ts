import { type ReadDatabase, statement } from '../engine/open.ts';

/** A pack that names related works; `related` are their identifiers. */
export interface RelatingPack {
  ledger_entry: number;
  id: string;
  supersedes: string | null;
  related: string[];
}

/** Returns the first `limit` packs after a ledger entry, with what they relate to. */
export function packsAfter(database: ReadDatabase, entry: number, limit: number): RelatingPack[] {
  return statement<Omit<RelatingPack, 'related'> & { related: string }>(
    database,
    `SELECT p.ledger_entry, p.id, p.supersedes,
       (SELECT json_group_array(json_extract(j.value, '$.identifier')) FROM json_each(r.record, '$.related') j) AS related
     FROM packs p JOIN pack_records r ON r.ledger_entry = p.ledger_entry
     WHERE p.ledger_entry > ? ORDER BY p.ledger_entry LIMIT ?`,
  )
    .all(entry, limit)
    .map((row) => ({ ...row, related: JSON.parse(row.related) as string[] }));
}
