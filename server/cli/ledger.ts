import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { systemClock } from '../../shared/clock.ts';
import type { LedgerVerification } from '../../shared/ledger.ts';
import { type CheckpointComparison, compareCheckpoint } from '../ledger/compareCheckpoint.ts';
import { detectRollback, readKnownState } from '../ledger/detectRollback.ts';
import { databaseFile } from '../store/blobs/paths.ts';
import { requireTables, withReadOnlyDatabase } from '../store/opening/inspectFolder.ts';
import { runLedgerVerification } from '../verification/ledger/ledgerVerification.ts';
import {
  archiveFolder,
  type Command,
  DATA_OPTION,
  type ExitCode,
  JSON_OPTION,
  print,
  printError,
  UsageError,
} from './command.ts';
import { shown } from './shown.ts';

const HELP = `Usage: strongroom ledger verify [options]

Recomputes the whole ledger of a data folder: every entry, every link, the root, and the digest of everything that was
recorded, and compares it with the head and the checkpoint that the node keeps beside it. The node may be running
meanwhile.

  --data DIR          the data folder (default: ./strongroom-data)
  --checkpoint FILE   a checkpoint kept earlier, by the node's key or one that it had before: tells whether anything
                      before it was rewritten since
  --json              one JSON object instead of sentences

Ends with 0 if everything holds, 1 if anything does not, 2 if it could not be done.`;

export const ledger: Command = {
  name: 'ledger',
  summary: 'verify the ledger, also against a checkpoint kept earlier',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        data: DATA_OPTION,
        checkpoint: { type: 'string' },
        json: JSON_OPTION,
      },
    });
    if (positionals.join(' ') !== 'verify')
      throw new UsageError('The one thing to do with a ledger here is “verify”.');
    const folder = archiveFolder(values.data);
    await requireTables(folder);
    const isTerminal = process.stderr.isTTY === true;
    const verification = await runLedgerVerification(
      { folder, clock: systemClock },
      { tell: (checked) => isTerminal && process.stderr.write(`\r${checked} entries checked`) },
    );
    if (isTerminal) process.stderr.write('\r\x1b[K');
    const comparison =
      values.checkpoint === undefined || isDatabaseDamaged(verification)
        ? undefined
        : compareCheckpoint(databaseFile(folder), await readFile(values.checkpoint, 'utf8'));
    const kept = isDatabaseDamaged(verification) ? NO_DOUBT : await keptDoubt(folder);
    const ok = verification.ok && comparison?.ok !== false && kept.ok;
    if (values.json) print(JSON.stringify({ ...verification, ok, checkpoint: comparison ?? null, kept }));
    else tell(verification, comparison, kept);
    return ok ? 0 : 1;
  },
};

function isDatabaseDamaged({ problems }: LedgerVerification): boolean {
  return problems.some(({ problem }) => problem === 'database_damaged');
}

/** Of a database that cannot be read nothing more can be said. */
const NO_DOUBT = { ok: true, sentence: null };

/** Whether the ledger is the one that the node was left with, as far as it has kept that. */
async function keptDoubt(folder: string): Promise<{ ok: boolean; sentence: string | null }> {
  const beside = await readKnownState(folder);
  const { doubt } = await withReadOnlyDatabase(folder, (examined) => detectRollback(examined, beside));
  return { ok: doubt === undefined, sentence: doubt?.message ?? null };
}

function tell(
  found: LedgerVerification,
  comparison: CheckpointComparison | undefined,
  kept: { sentence: string | null },
): void {
  for (const { seq, problem, subject, expected, actual } of found.problems) {
    if (problem === 'database_damaged') {
      printError(
        `The database is damaged: ${actual}. “strongroom audit” tells more; put back a copy that is sound.`,
      );
      continue;
    }
    const entry = seq > 0 ? `Entry ${seq}` : 'No entry';
    const about = subject === null ? '' : ` (${shown(subject)})`;
    printError(
      `${entry}${about}: ${problem.replaceAll('_', ' ')}; expected ${expected ?? 'nothing'}, found ${actual ?? 'nothing'}.`,
    );
  }
  if (found.ok) print(`${found.size} entries hold. Head ${found.head}, root ${found.root}.`);
  else if (!isDatabaseDamaged(found)) print(`${found.problems.length} problems in ${found.size} entries.`);
  if (comparison) (comparison.ok ? print : printError)(comparison.sentence);
  if (kept.sentence !== null) printError(kept.sentence);
}
