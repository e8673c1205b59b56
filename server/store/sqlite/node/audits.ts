import type { Audit } from '../../../../shared/ledger/fixity.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** The progress of an audit. */
export type AuditCounts = Pick<Audit, 'checked' | 'bytes' | 'damaged' | 'restored'>;

/** An audit that has not ended; `position` is the digest of the last blob that it hashed. */
export type RunningAudit = AuditCounts & { id: number; started_at: string; position: string };

type StartedBy = Audit['started_by'];

export function insertAudit(
  database: WriteDatabase,
  audit: { started_by: StartedBy; started_at: string },
): number {
  return Number(
    statement(database, 'INSERT INTO audits (started_by, started_at) VALUES (@started_by, @started_at)').run(
      audit,
    ).lastInsertRowid,
  );
}

/** Saves the progress of an audit. */
export function updateAudit(
  database: WriteDatabase,
  audit: AuditCounts & { id: number; position: string },
): void {
  statement(
    database,
    `UPDATE audits SET position = @position, checked = @checked, bytes = @bytes, damaged = @damaged,
       restored = @restored WHERE id = @id`,
  ).run({
    id: audit.id,
    position: audit.position,
    checked: audit.checked,
    bytes: audit.bytes,
    damaged: audit.damaged,
    restored: audit.restored,
  });
}

export function endAudit(
  database: WriteDatabase,
  id: number,
  { ended_at, completed }: { ended_at: string; completed: boolean },
): void {
  statement(database, 'UPDATE audits SET ended_at = ?, completed = ? WHERE id = ?').run(
    ended_at,
    Number(completed),
    id,
  );
}

/** Ends running audits as not completed, because their process ended or they are no longer needed. */
export function abortAudits(database: WriteDatabase, startedBy: StartedBy, at: string): void {
  statement(database, 'UPDATE audits SET ended_at = ? WHERE started_by = ? AND ended_at IS NULL').run(
    at,
    startedBy,
  );
}

/** Returns the running scheduled audit, or undefined. */
export function scheduledAudit(database: ReadDatabase): RunningAudit | undefined {
  return statement<RunningAudit>(
    database,
    `SELECT id, started_at, position, checked, bytes, damaged, restored FROM audits
     WHERE started_by = 'schedule' AND ended_at IS NULL ORDER BY id DESC LIMIT 1`,
  ).get();
}

/** Returns the newest completed audit, or undefined. */
export function lastCompletedAudit(
  database: ReadDatabase,
): { ended_at: string; checked: number } | undefined {
  return statement<{ ended_at: string; checked: number }>(
    database,
    'SELECT ended_at, checked FROM audits WHERE completed = 1 ORDER BY ended_at DESC, id DESC LIMIT 1',
  ).get();
}

/** Returns a page of audits, newest first, and their total number. */
export function auditsPage(
  database: ReadDatabase,
  { limit, offset }: { limit: number; offset: number },
): { items: Audit[]; total: number } {
  const rows = statement<Omit<Audit, 'completed'> & { completed: number }>(
    database,
    `SELECT id, started_by, started_at, ended_at, completed, checked, bytes, damaged, restored FROM audits
     ORDER BY id DESC LIMIT ? OFFSET ?`,
  ).all(limit, offset);
  const total = statement<{ count: number }>(database, 'SELECT count(*) AS count FROM audits').get()?.count;
  return { items: rows.map((row) => ({ ...row, completed: row.completed === 1 })), total: total ?? 0 };
}
