import { type ReadDatabase, statement } from '../engine/open.ts';

/** A pack or a study, and when the ledger last recorded a change of its page. */
export interface SitemapItem {
  entry: number;
  id: string;
  at: string;
}

const TABLES = { packs: 'packs', studies: 'studies' } as const;
export type SitemapKind = keyof typeof TABLES;

export function countItems(database: ReadDatabase, kind: SitemapKind): number {
  return (
    statement<{ items: number }>(database, `SELECT count(*) AS items FROM ${TABLES[kind]}`).get()?.items ?? 0
  );
}

/** Returns the ledger entry of the item at this place in the order of the ledger, counted from 0. */
export function entryAtPlace(database: ReadDatabase, kind: SitemapKind, place: number): number | undefined {
  return statement<{ entry: number }>(
    database,
    `SELECT ledger_entry AS entry FROM ${TABLES[kind]} ORDER BY ledger_entry LIMIT 1 OFFSET ?`,
  ).get(place)?.entry;
}

/** The last entry that changed the page: of the pack, of one that supersedes or replicates it, or of the study's status. */
const LAST_CHANGES: Record<SitemapKind, string> = {
  packs: `max(i.ledger_entry,
    coalesce((SELECT max(ledger_entry) FROM packs WHERE supersedes = i.id), 0),
    coalesce((SELECT max(ledger_entry) FROM packs WHERE replicates = i.id), 0))`,
  studies: `max(i.ledger_entry,
    coalesce((SELECT max(ledger_entry) FROM study_statuses WHERE study = i.id), 0),
    coalesce((SELECT max(ledger_entry) FROM packs WHERE study = i.id), 0))`,
};

/** Returns the items from this entry on, in the order of the ledger. */
export function sitemapItems(
  database: ReadDatabase,
  kind: SitemapKind,
  { from, limit }: { from: number; limit: number },
): SitemapItem[] {
  return statement<SitemapItem>(
    database,
    `SELECT i.ledger_entry AS entry, i.id, l.at FROM ${TABLES[kind]} i
     JOIN ledger l ON l.seq = ${LAST_CHANGES[kind]}
     WHERE i.ledger_entry >= ? ORDER BY i.ledger_entry LIMIT ?`,
  ).all(from, limit);
}
