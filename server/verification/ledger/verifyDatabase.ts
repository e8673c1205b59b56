import { NO_HASH } from '../../../shared/ledger/ledger.ts';
import { countUnreadable } from '../../findings/sealed.ts';
import { verifyTimestamps } from '../../ledger/timestamps/timestampReplies.ts';
import { type LedgerFindings, verifyLedger } from '../../ledger/verifyLedger.ts';
import { requireCurrentSchema } from '../../store/sqlite/engine/migrate.ts';
import { openSnapshot } from '../../store/sqlite/engine/writeAheadLog.ts';
import { isDatabaseDamage } from '../../store/storageErrors.ts';
import { RECORDED_SUBJECTS } from './recordedSubjects.ts';

/** What a verification found. */
export type VerifiedLedger = LedgerFindings & { sealed: number };

/**
 * Verifies the ledger in a database file, in the thread that calls it.
 *
 * @param report called with the number of entries checked so far
 */
export async function verifyDatabase(
  file: string,
  report: (checked: number) => void,
): Promise<VerifiedLedger> {
  let checked = 0;
  try {
    return await verify(file, (progress) => {
      checked = progress;
      report(progress);
    });
  } catch (error) {
    if (isUnreadableRow(error)) return damaged(checked, error.message);
    throw error;
  }
}

async function verify(file: string, report: (checked: number) => void): Promise<VerifiedLedger> {
  const database = await openSnapshot(file);
  try {
    requireCurrentSchema(database);
    const findings = verifyLedger(database, RECORDED_SUBJECTS, report);
    return {
      ...findings,
      problems: [...findings.problems, ...verifyTimestamps(database)],
      sealed: countUnreadable(database),
    };
  } finally {
    database.close();
  }
}

/** Returns whether an error means an unreadable row: SQLite reports damage, or a value has an unexpected form. */
function isUnreadableRow(error: unknown): error is Error {
  return isDatabaseDamage(error) || error instanceof SyntaxError || error instanceof TypeError;
}

function damaged(checked: number, actual: string): VerifiedLedger {
  const problem = {
    seq: checked,
    problem: 'database_damaged' as const,
    subject: null,
    expected: null,
    actual,
  };
  return { size: checked, head: NO_HASH, root: NO_HASH, problems: [problem], sealed: 0 };
}
