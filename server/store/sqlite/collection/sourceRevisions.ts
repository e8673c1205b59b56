import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** Stores what a ledger entry recorded of a source, as JSON. */
export function insertSourceRevision(
  database: WriteDatabase,
  revision: { ledger_entry: number; source_key: number; record: unknown },
): void {
  statement(database, 'INSERT INTO source_revisions (ledger_entry, source_key, record) VALUES (?, ?, ?)').run(
    revision.ledger_entry,
    revision.source_key,
    JSON.stringify(revision.record),
  );
}

/** Iterates over all revisions in ledger order; `newest` marks the current revision of its source. */
export function* iterateSourceRevisions(
  database: ReadDatabase,
): Generator<{ ledger_entry: number; source_key: number; record: unknown; newest: boolean }> {
  const rows = statement<{ ledger_entry: number; source_key: number; record: string; newest: number }>(
    database,
    `SELECT r.ledger_entry, r.source_key, r.record, s.revision = r.ledger_entry AS newest
     FROM source_revisions r JOIN sources s ON s.key = r.source_key ORDER BY r.ledger_entry`,
  ).iterate();
  for (const row of rows)
    yield { ...row, record: JSON.parse(row.record) as unknown, newest: row.newest === 1 };
}
