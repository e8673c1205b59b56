import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect } from 'vitest';
import { runLedgerVerification } from '../../../server/verification/ledger/ledgerVerification.ts';
import type { LedgerVerification } from '../../../shared/ledger/ledger.ts';
import { systemClock } from '../../../shared/values/clock.ts';

const TABLES = ['retrievals', 'captures', 'retrieval_batches', 'retrieval_leaves'];

/** Alters the database directly, after dropping the triggers that protect it. */
export function alter(dataFolder: string, sql: string): void {
  const database = new Database(join(dataFolder, 'strongroom.db'));
  try {
    const triggers = database
      .prepare<[], string>(
        `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name IN ('${TABLES.join("', '")}')`,
      )
      .pluck()
      .all();
    database.pragma('foreign_keys = OFF');
    for (const trigger of triggers) database.exec(`DROP TRIGGER ${trigger}`);
    database.exec(sql);
  } finally {
    database.close();
  }
}

/** Returns the problems that verification finds. It works with and without a running node. */
export async function problems(dataFolder: string): Promise<LedgerVerification['problems']> {
  const found = await runLedgerVerification({ folder: dataFolder, clock: systemClock });
  expect(found.ok).toBe(found.problems.length === 0);
  return found.problems;
}
