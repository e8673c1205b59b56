import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../../shared/values/clock.ts';
import { countOf } from '../../../shared/values/counts.ts';
import { type RebuildResult, rebuildArchive } from '../../dump/rebuildArchive.ts';
import { checkDatabase } from '../../fixity/audit.ts';
import { NodeKeyError } from '../../ledger/nodeKey.ts';
import { openArchive } from '../../ledger/openArchive.ts';
import {
  ACCEPT_ROLLBACK_OPTION,
  type Command,
  type ExitCode,
  escapeForTerminal,
  JSON_OPTION,
  optionsHelp,
  print,
  printError,
  printJson,
  UsageError,
} from '../command.ts';
import { type AuditReport, auditReadOnly, DAMAGE_TEXT } from './audit.ts';

const OPTIONS = {
  dump: { type: 'string', value: 'FILE', help: 'the dump to use (default: the newest one)' },
  'accept-rollback': ACCEPT_ROLLBACK_OPTION,
  json: JSON_OPTION,
} as const;

const HELP = `Usage: strongroom rebuild DIR [options]

Rebuilds the database of a data folder if it is missing or cannot be read. Uses the newest dump (*.jsonl) in the folder,
in its subfolder “dumps” or next to it, and the blobs in the folder. Then verifies the ledger, re-hashes every blob and
reports what is missing. A database that can be read is never replaced; one that cannot be read is renamed. The archive
keeps its name and its key.

${optionsHelp(OPTIONS)}

Exit code: 0 if nothing is missing, 1 if something is missing or damaged, 2 if the database could not be rebuilt.`;

/** At most so many damaged blobs are listed. */
const MAX_LISTED = 20;

export const rebuild: Command = {
  name: 'rebuild',
  summary: 'rebuild a lost database from a dump and the stored blobs',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    const [data, ...more] = positionals;
    if (data === undefined || more.length > 0) throw new UsageError('Name the one data folder to rebuild.');
    const folder = resolve(data);
    const acceptRollback = values['accept-rollback'];
    const dump = values.dump === undefined ? undefined : resolve(values.dump);
    const rebuilt = await rebuildArchive({ folder, clock: systemClock, dump, acceptRollback });
    const key = await openOnce(folder, acceptRollback);
    const found = await auditReadOnly(folder, await checkDatabase({ folder }));
    const ok = key === undefined && found.damaged_objects === 0;
    if (values.json) {
      const { dump: from, head, setAside: set_aside, passedOver: passed_over } = rebuilt;
      const { checked, bytes, damaged_objects, damaged } = found;
      const source = {
        ok,
        dump: from,
        entries: head.checkpoint.size,
        set_aside: set_aside ?? null,
        passed_over,
      };
      printJson({ ...source, key: key ?? null, checked, bytes, damaged_objects, damaged });
    } else {
      for (const line of describeRebuild(rebuilt)) print(line);
      if (key !== undefined) printError(key);
      printAudit(found);
    }
    return ok ? 0 : 1;
  },
};

/** Opens the archive once, which recovers what a crash left. Returns the message if its key is missing. */
async function openOnce(folder: string, acceptRollback: boolean): Promise<string | undefined> {
  try {
    const warn = (_: object, sentence: string) => printError(sentence);
    const { store } = await openArchive({ folder, clock: systemClock, acceptRollback, warn });
    await store.close();
    return undefined;
  } catch (error) {
    if (error instanceof NodeKeyError) return error.message;
    throw error;
  }
}

/** Describes which dump was used, and what a dump does not contain. */
export function describeRebuild({ dump, head, setAside, passedOver }: RebuildResult): string[] {
  return [
    ...passedOver.map((why) => `Skipped: ${escapeForTerminal(why)}`),
    ...(setAside === undefined ? [] : [`The database that could not be read was renamed to ${setAside}.`]),
    `The database was rebuilt from ${escapeForTerminal(dump)}: ${countOf(head.checkpoint.size, 'entry', 'entries')}, and the ledger is valid.`,
    'A dump contains no settings, no invitations and no values of request headers: set them again.',
  ];
}

function printAudit({ checked, bytes, damaged_objects, damaged }: AuditReport): void {
  for (const { sha256, problem, found } of damaged.slice(0, MAX_LISTED))
    printError(`${sha256}: ${DAMAGE_TEXT[problem](found)}.`);
  const all = `${checked} ${checked === 1 ? 'object' : 'objects'}, ${bytes} bytes`;
  if (damaged_objects === 0) print(`No stored bytes are missing: ${all}.`);
  else
    printError(
      `${damaged_objects} of ${all} are missing or damaged. To repair them, upload the pack files again or check the sources again.`,
    );
}
