import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { LedgerVerification, Stamping } from '../../../shared/ledger/ledger.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { countOf } from '../../../shared/values/counts.ts';
import type { NodeConfig } from '../../config.ts';
import {
  type CheckpointComparison,
  compareCheckpoint,
  detectRollback,
  readKnownState,
} from '../../ledger/detectRollback.ts';
import { databaseFile, isMissing } from '../../store/files.ts';
import { requireTables, withReadOnlyDatabase } from '../../store/opening/inspectFolder.ts';
import { runLedgerVerification } from '../../verification/ledger/ledgerVerification.ts';
import {
  type Command,
  type ExitCode,
  escapeForTerminal,
  NODE_OPTIONS,
  optionsHelp,
  print,
  printError,
  printJson,
  UsageError,
} from '../command.ts';
import { archiveFolder } from '../dataFolder.ts';
import { RefusedByNodeError } from '../node/nodeClient.ts';
import { type NodeOptions, withArchive } from '../node/withNode.ts';

const OPTIONS = {
  ...NODE_OPTIONS,
  checkpoint: {
    type: 'string',
    value: 'FILE',
    help: 'a checkpoint saved earlier, in the interface or from /api/ledger/checkpoint: also reports whether any entry before it was rewritten since',
  },
} as const;

const HELP = `Usage: strongroom ledger verify [options]
       strongroom ledger timestamp [options]

verify recomputes the entire ledger of a data folder: every entry, every link, the root, the digest of every record, and
every timestamp. Compares the ledger with the head and the checkpoint that the node keeps beside the database. A node may
be running.

timestamp has the ledger timestamped now, by each authority in the settings (RFC 3161). If a node has the folder open,
that node asks them.

${optionsHelp(OPTIONS)}

Exit code: 0 if the ledger is valid or every authority answered, 1 if not, 2 if it could not be done.`;

export const ledger: Command = {
  name: 'ledger',
  summary: 'verify the ledger, or have it timestamped',
  help: HELP,
  async run(args, config): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    const subcommand = positionals.join(' ');
    if (subcommand !== 'verify' && subcommand !== 'timestamp')
      throw new UsageError('The subcommands are “verify” and “timestamp”.');
    if (subcommand === 'timestamp') return timestampLedger(values, config);
    const folder = archiveFolder(values.data);
    await requireTables(folder);
    const isTerminal = process.stderr.isTTY === true;
    const verification = await runLedgerVerification(
      { folder, clock: systemClock },
      { onProgress: (checked) => isTerminal && process.stderr.write(`\r${checked} entries checked`) },
    );
    if (isTerminal) process.stderr.write('\r\x1b[K');
    const comparison =
      values.checkpoint === undefined || isDatabaseDamaged(verification)
        ? undefined
        : compareCheckpoint(databaseFile(folder), await readCheckpointFile(values.checkpoint));
    const kept = isDatabaseDamaged(verification) ? NOT_COMPARED : await compareWithFolder(folder);
    const ok = verification.ok && comparison?.ok !== false && kept.ok;
    if (values.json) printJson({ ...verification, ok, checkpoint: comparison ?? null, kept });
    else printResult(verification, comparison, kept);
    return ok ? 0 : 1;
  },
};

async function readCheckpointFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) throw new UsageError(`There is no file ${file}.`);
    throw error;
  }
}

function isDatabaseDamaged({ problems }: LedgerVerification): boolean {
  return problems.some(({ problem }) => problem === 'database_damaged');
}

/** A database that cannot be read is not compared. */
const NOT_COMPARED = { ok: true, sentence: null };

/** Compares the ledger with the head and the checkpoint in the data folder. */
async function compareWithFolder(folder: string): Promise<{ ok: boolean; sentence: string | null }> {
  const beside = await readKnownState(folder);
  const { doubt } = await withReadOnlyDatabase(folder, (examined) => detectRollback(examined, beside));
  return { ok: doubt === undefined, sentence: doubt?.message ?? null };
}

function printResult(
  found: LedgerVerification,
  comparison: CheckpointComparison | undefined,
  kept: { sentence: string | null },
): void {
  for (const { seq, problem, subject, expected, actual } of found.problems) {
    if (problem === 'database_damaged') {
      printError(
        `The database is damaged: ${actual}. “strongroom audit” lists the details. Restore an intact copy.`,
      );
      continue;
    }
    if (problem === 'wrong_timestamp') {
      printError(`Entries up to ${seq} (${subject}): ${actual}`);
      continue;
    }
    const entry = seq > 0 ? `Entry ${seq}` : 'No entry';
    const about = subject === null ? '' : ` (${escapeForTerminal(subject)})`;
    printError(
      `${entry}${about}: ${problem.replaceAll('_', ' ')}; expected ${expected ?? 'nothing'}, found ${actual ?? 'nothing'}.`,
    );
  }
  if (found.ok)
    print(`${countOf(found.size, 'entry is', 'entries are')} valid. Head ${found.head}, root ${found.root}.`);
  else if (!isDatabaseDamaged(found))
    print(`${countOf(found.problems.length, 'problem')} in ${countOf(found.size, 'entry', 'entries')}.`);
  if (found.sealed > 0)
    print(
      `${countOf(found.sealed, 'finding is', 'findings are')} sealed and cannot be read here: only the commitments were checked.`,
    );
  if (comparison) (comparison.ok ? print : printError)(comparison.sentence);
  if (kept.sentence !== null) printError(kept.sentence);
}

/** Runs `strongroom ledger timestamp`: asks every authority now. */
async function timestampLedger(
  options: NodeOptions & { json: boolean },
  config: Partial<NodeConfig>,
): Promise<ExitCode> {
  try {
    const result = await withArchive(options, config, (node) => node.call('requestTimestamps'));
    if (options.json) printJson(result);
    else printTimestamps(result);
    return result.failed.length === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof RefusedByNodeError)) throw error;
    printError(escapeForTerminal(error.message));
    return 1;
  }
}

function printTimestamps({ items, failed }: Stamping): void {
  for (const { size, at, authority, serial } of items) {
    const entries = size === 1 ? 'Entry 1' : `Entries 1 to ${size}`;
    print(`${entries} existed before ${at}, according to ${escapeForTerminal(authority)} (${serial}).`);
  }
  for (const { authority, error } of failed) printError(escapeForTerminal(`${authority}: ${error}`));
}
