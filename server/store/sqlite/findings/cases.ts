import type { CaseItem, CaseSummary, NewCaseItem, StoredCase } from '../../../../shared/findings/case.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

type Row = Omit<StoredCase, 'items'> & { items: string };

const COLUMNS = 'id, title, description, items, revision, created_at, changed_at FROM cases';

export function insertCase(database: WriteDatabase, added: StoredCase): void {
  statement(
    database,
    `INSERT INTO cases (id, title, description, items, revision, created_at, changed_at)
     VALUES ($id, $title, $description, $items, $revision, $created_at, $changed_at)`,
  ).run(rowOf(added));
}

export function updateCase(database: WriteDatabase, changed: StoredCase): void {
  statement(
    database,
    `UPDATE cases SET title = $title, description = $description, items = $items, revision = $revision,
       created_at = $created_at, changed_at = $changed_at WHERE id = $id`,
  ).run(rowOf(changed));
}

/** Deletes a case; returns whether there was one. */
export function deleteCaseRow(database: WriteDatabase, id: string): boolean {
  return statement(database, 'DELETE FROM cases WHERE id = ?').run(id).changes > 0;
}

export function caseById(database: ReadDatabase, id: string): StoredCase | undefined {
  const row = statement<Row>(database, `SELECT ${COLUMNS} WHERE id = ?`).get(id);
  return row && { ...row, items: JSON.parse(row.items) as NewCaseItem[] };
}

/** Returns a page of cases, newest first, whose title or description has all these words. */
export function selectCases(
  database: ReadDatabase,
  words: readonly string[],
  { limit, offset }: { limit: number; offset: number },
): { items: CaseSummary[]; total: number } {
  const summaries = statement<CaseSummary>(
    database,
    `SELECT id, title, description, json_array_length(items) AS items, revision, created_at, changed_at FROM cases
     ORDER BY key DESC`,
  ).all();
  // An owner has few cases, so no index is needed.
  const matching = summaries.filter(({ title, description }) => {
    const text = folded(`${title} ${description}`);
    return words.every((word) => text.includes(folded(word)));
  });
  return { items: matching.slice(offset, offset + limit), total: matching.length };
}

function folded(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

/** Returns the name and time of what an item refers to; undefined if the archive does not hold it. */
export function describeItem(
  database: ReadDatabase,
  { kind, id }: Pick<NewCaseItem, 'kind' | 'id'>,
): Pick<CaseItem, 'name' | 'at'> | undefined {
  const sql = {
    event: `SELECT coalesce(nullif(s.name, ''), s.url) AS name, e.observed_at AS at
      FROM events e JOIN sources s ON s.key = e.source_key WHERE e.id = CAST(? AS INTEGER)`,
    pack: `SELECT r.record ->> 'title' AS name, l.at FROM packs p JOIN pack_records r USING (ledger_entry)
      JOIN ledger l ON l.seq = p.ledger_entry WHERE p.id = ?`,
    finding: 'SELECT coalesce(withdrawal, text) AS name, at FROM findings WHERE id = ?',
  }[kind];
  return statement<Pick<CaseItem, 'name' | 'at'>>(database, sql).get(id);
}

function rowOf(value: StoredCase): Row {
  return { ...value, items: JSON.stringify(value.items) };
}
