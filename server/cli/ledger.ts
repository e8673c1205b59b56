import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { systemClock } from '../../shared/clock.ts';
import type { LedgerVerification } from '../../shared/ledger.ts';
import { compareCheckpoint } from '../ledger/compareCheckpoint.ts';
import { databaseFile } from '../store/blobs/paths.ts';
import { runLedgerVerification } from '../workers/ledgerVerification.ts';
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
recorded. The node may be running meanwhile.

  --data DIR          the data folder (default: ./strongroom-data)
  --checkpoint FILE   a checkpoint kept earlier: tells whether anything before it was rewritten since
  --json              one JSON object instead of sentences

Ends with 0 if everything holds, 1 if anything does not.`;

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
    const isTerminal = process.stderr.isTTY === true;
    const verification = await runLedgerVerification(
      { folder, clock: systemClock },
      { tell: (checked) => isTerminal && process.stderr.write(`\r${checked} entries checked`) },
    );
    if (isTerminal) process.stderr.write('\r\x1b[K');
    const comparison =
      values.checkpoint === undefined
        ? undefined
        : compareCheckpoint(databaseFile(folder), await readFile(values.checkpoint, 'utf8'));
    const ok = verification.ok && comparison?.ok !== false;
    if (values.json) print(JSON.stringify({ ...verification, ok, checkpoint: comparison ?? null }));
    else tell(verification, comparison);
    return ok ? 0 : 1;
  },
};

function tell(found: LedgerVerification, comparison: { ok: boolean; sentence: string } | undefined): void {
  for (const { seq, problem, subject, expected, actual } of found.problems) {
    const entry = seq > 0 ? `Entry ${seq}` : 'No entry';
    const about = subject === null ? '' : ` (${shown(subject)})`;
    printError(
      `${entry}${about}: ${problem.replaceAll('_', ' ')}; expected ${expected ?? 'nothing'}, found ${actual ?? 'nothing'}.`,
    );
  }
  if (found.ok) print(`${found.size} entries hold. Head ${found.head}, root ${found.root}.`);
  else print(`${found.problems.length} problems in ${found.size} entries.`);
  if (comparison) (comparison.ok ? print : printError)(comparison.sentence);
}
