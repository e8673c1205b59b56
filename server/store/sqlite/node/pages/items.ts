import type { Comment } from '../../../../../shared/archive/comment.ts';
import type { Outcome, Tag, Verdict } from '../../../../../shared/archive/vocabulary.ts';
import type { StatusRow, StudyRow } from '../../archive/studies.ts';
import { type ReadDatabase, statement } from '../../engine/open.ts';

/*
 * What the pages of a copy show, as it was with a ledger of a certain size. Nothing is read that a later entry recorded,
 * because the copy does not hold it yet.
 */

/** A pack in a list. */
export interface ListedPack {
  id: string;
  ledger_entry: number;
  at: string;
  outcome: Outcome;
  tag: Tag;
  title: string;
  summary: string;
  authors: string;
  keywords: string;
}

const LISTED_PACK = `SELECT p.id, p.ledger_entry, l.at, p.outcome, p.tag, r.record ->> '$.title' AS title,
  substr(r.record ->> '$.summary', 1, 400) AS summary, r.record -> '$.authors' AS authors,
  r.record -> '$.keywords' AS keywords
  FROM packs p JOIN pack_records r USING (ledger_entry) JOIN ledger l ON l.seq = p.ledger_entry`;

interface Place {
  offset: number;
  limit: number;
}

export function countPacksOfLedger(database: ReadDatabase, size: number): number {
  return count(database, 'SELECT count(*) AS count FROM packs WHERE ledger_entry <= ?', size);
}

/** Returns packs in the order of the ledger. */
export function packsOfLedger(
  database: ReadDatabase,
  size: number,
  { offset, limit }: Place,
  order: 'ASC' | 'DESC' = 'ASC',
): ListedPack[] {
  const entries = statement<number>(
    database,
    `SELECT ledger_entry FROM packs WHERE ledger_entry <= ? ORDER BY ledger_entry ${order} LIMIT ? OFFSET ?`,
  )
    .pluck()
    .all(size, limit, offset);
  return statement<ListedPack>(
    database,
    `${LISTED_PACK} WHERE p.ledger_entry IN (SELECT value FROM json_each(?)) ORDER BY p.ledger_entry ${order}`,
  ).all(JSON.stringify(entries));
}

export function countPacksOfStudy(database: ReadDatabase, study: string, size: number): number {
  return count(
    database,
    'SELECT count(*) AS count FROM packs WHERE study = ? AND ledger_entry <= ?',
    study,
    size,
  );
}

/** Returns the packs of a study in the order of the ledger. */
export function packsOfStudyUntil(
  database: ReadDatabase,
  { study, size, order = 'ASC' }: { study: string; size: number; order?: 'ASC' | 'DESC' },
  { offset, limit }: Place,
): ListedPack[] {
  return statement<ListedPack>(
    database,
    `${LISTED_PACK} WHERE p.study = ? AND p.ledger_entry <= ? ORDER BY p.ledger_entry ${order} LIMIT ? OFFSET ?`,
  ).all(study, size, limit, offset);
}

export function countStudiesOfLedger(database: ReadDatabase, size: number): number {
  return count(database, 'SELECT count(*) AS count FROM studies WHERE ledger_entry <= ?', size);
}

/** Returns studies in the order of the ledger, with the status that they had. */
export function studiesOfLedger(
  database: ReadDatabase,
  size: number,
  { offset, limit }: Place,
  order: 'ASC' | 'DESC' = 'ASC',
): StudyRow[] {
  return statement<StudyRow>(
    database,
    `${STUDY} WHERE s.ledger_entry <= @size ORDER BY s.ledger_entry ${order} LIMIT @limit OFFSET @offset`,
  ).all({ size, limit, offset });
}

const STUDY = `SELECT s.ledger_entry, s.id, s.title, s.question, s.description, s.node, s.created_at,
  (SELECT status FROM study_statuses h WHERE h.study = s.id AND h.ledger_entry <= @size
   ORDER BY h.ledger_entry DESC LIMIT 1) AS status FROM studies s`;

/** Returns the place of a study in the order of the ledger, counted from 0. */
export function placeOfStudy(database: ReadDatabase, id: string): number {
  return count(
    database,
    'SELECT count(*) AS count FROM studies WHERE ledger_entry < (SELECT ledger_entry FROM studies WHERE id = ?)',
    id,
  );
}

export function studyOfLedger(database: ReadDatabase, id: string, size: number): StudyRow | undefined {
  return statement<StudyRow>(database, `${STUDY} WHERE s.id = @id AND s.ledger_entry <= @size`).get({
    id,
    size,
  });
}

export function statusesUntil(database: ReadDatabase, study: string, size: number): StatusRow[] {
  return statement<StatusRow>(
    database,
    `SELECT ledger_entry, study, status, note, at FROM study_statuses WHERE study = ? AND ledger_entry <= ?
     ORDER BY ledger_entry`,
  ).all(study, size);
}

/** What other packs, comments and flags say about a pack. */
export interface PackReferences {
  replications: { pack: string; title: string; verdict: Verdict; at: string }[];
  superseded_by: string | null;
  flags: { reason: string; note: string; at: string }[];
}

export function packReferencesUntil(database: ReadDatabase, id: string, size: number): PackReferences {
  const replications = statement<PackReferences['replications'][number]>(
    database,
    `SELECT p.id AS pack, r.record ->> '$.title' AS title, p.verdict, l.at
     FROM packs p JOIN pack_records r USING (ledger_entry) JOIN ledger l ON l.seq = p.ledger_entry
     WHERE p.replicates = ? AND p.ledger_entry <= ? ORDER BY p.ledger_entry`,
  ).all(id, size);
  const newer = statement<string>(
    database,
    'SELECT id FROM packs WHERE supersedes = ? AND ledger_entry <= ? ORDER BY ledger_entry DESC LIMIT 1',
  )
    .pluck()
    .get(id, size);
  const flags = statement<PackReferences['flags'][number]>(
    database,
    'SELECT reason, note, at FROM pack_flags WHERE pack = ? AND ledger_entry <= ? ORDER BY ledger_entry',
  ).all(id, size);
  return { replications, superseded_by: newer ?? null, flags };
}

export function packTitle(database: ReadDatabase, id: string): string | undefined {
  return statement<string>(
    database,
    `SELECT r.record ->> '$.title' FROM packs p JOIN pack_records r USING (ledger_entry) WHERE p.id = ?`,
  )
    .pluck()
    .get(id);
}

/** Returns the first comments on an item, oldest first, and their number. */
export function commentsUntil(
  database: ReadDatabase,
  { item, size, limit }: { item: string; size: number; limit: number },
): { items: Comment[]; total: number } {
  const items = statement<Comment>(
    database,
    `SELECT id, item, author, body, reply_to, at, ledger_entry FROM comments
     WHERE item = ? AND ledger_entry <= ? ORDER BY ledger_entry LIMIT ?`,
  ).all(item, size, limit);
  const total = count(
    database,
    'SELECT count(*) AS count FROM comments WHERE item = ? AND ledger_entry <= ?',
    item,
    size,
  );
  return { items, total };
}

/** Returns the pages that an added pack changes besides its own. */
export function changedByPack(
  database: ReadDatabase,
  id: string,
): { study: string | null; replicates: string | null; supersedes: string | null } | undefined {
  return statement<{ study: string | null; replicates: string | null; supersedes: string | null }>(
    database,
    'SELECT study, replicates, supersedes FROM packs WHERE id = ?',
  ).get(id);
}

/** Returns the ids of the packs with a file. */
export function packsNaming(database: ReadDatabase, sha256: string, size: number): string[] {
  return statement<string>(
    database,
    `SELECT DISTINCT p.id FROM pack_files f JOIN packs p ON p.ledger_entry = f.pack
     WHERE f.sha256 = ? AND p.ledger_entry <= ?`,
  )
    .pluck()
    .all(sha256, size);
}

function count(database: ReadDatabase, sql: string, ...values: (string | number)[]): number {
  return statement<{ count: number }>(database, sql).get(...values)?.count ?? 0;
}
