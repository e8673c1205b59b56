import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

/** The results of a round. */
export interface RoundCounts {
  checked: number;
  unchanged: number;
  changed: number;
  failed: number;
}

export function insertRound(
  database: WriteDatabase,
  round: { started_by: 'schedule' | 'owner'; started_at: string },
): number {
  return Number(
    statement(database, 'INSERT INTO rounds (started_by, started_at) VALUES (@started_by, @started_at)').run(
      round,
    ).lastInsertRowid,
  );
}

/** Ends a round. A cancelled round is ended but not completed. */
export function endRound(
  database: WriteDatabase,
  id: number,
  round: RoundCounts & { ended_at: string; completed: boolean; observer_offline: boolean },
): void {
  statement(
    database,
    `UPDATE rounds SET ended_at = @ended_at, completed = @completed, observer_offline = @observer_offline,
       checked = @checked, unchanged = @unchanged, changed = @changed, failed = @failed WHERE id = @id`,
  ).run({
    ...round,
    id,
    completed: Number(round.completed),
    observer_offline: Number(round.observer_offline),
  });
}

/** Returns when the last round ended that was completed, checked at least one source and was not offline. */
export function lastCompletedRound(database: ReadDatabase): string | undefined {
  return statement<{ ended_at: string }>(
    database,
    `SELECT ended_at FROM rounds WHERE completed = 1 AND observer_offline = 0 AND checked > 0
     ORDER BY ended_at DESC LIMIT 1`,
  ).get()?.ended_at;
}
