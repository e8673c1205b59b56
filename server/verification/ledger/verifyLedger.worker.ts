import { parentPort, workerData } from 'node:worker_threads';
import { NO_HASH } from '../../../shared/ledger/ledger.ts';
import { countUnreadable } from '../../findings/sealed.ts';
import { verifyTimestamps } from '../../ledger/timestamps/timestampReplies.ts';
import { type LedgerFindings, verifyLedger } from '../../ledger/verifyLedger.ts';
import { answerParent } from '../../runtime/answerParent.ts';
import { requireCurrentSchema } from '../../store/sqlite/engine/migrate.ts';
import { openSnapshot } from '../../store/sqlite/engine/writeAheadLog.ts';
import { isDatabaseDamage } from '../../store/storageErrors.ts';
import { RECORDED_SUBJECTS } from './recordedSubjects.ts';

/** The number of checked entries, reported if the verification ends early. */
let checked = 0;

/** What a verification found. */
export type VerifiedLedger = LedgerFindings & { sealed: number };

async function verify(file: string): Promise<VerifiedLedger> {
  const database = await openSnapshot(file);
  try {
    requireCurrentSchema(database);
    const findings = verifyLedger(database, RECORDED_SUBJECTS, (progress) => {
      checked = progress;
      parentPort?.postMessage({ progress });
    });
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

function damaged(actual: string): VerifiedLedger {
  const problem = {
    seq: checked,
    problem: 'database_damaged' as const,
    subject: null,
    expected: null,
    actual,
  };
  return { size: checked, head: NO_HASH, root: NO_HASH, problems: [problem], sealed: 0 };
}

await answerParent(() =>
  verify((workerData as { file: string }).file).catch((error: unknown) => {
    if (isUnreadableRow(error)) return damaged(error.message);
    throw error;
  }),
);
