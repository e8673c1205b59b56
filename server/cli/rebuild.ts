import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../shared/clock.ts';
import { type RebuildResult, rebuildArchive } from '../dump/rebuildArchive.ts';
import { checkDatabase } from '../fixity/checkDatabase.ts';
import { NodeKeyError } from '../ledger/nodeKey.ts';
import { openArchive } from '../ledger/openArchive.ts';
import { auditReadOnly, SAID, type Told } from './audit.ts';
import { type Command, type ExitCode, JSON_OPTION, print, printError, UsageError } from './command.ts';
import { shown } from './shown.ts';

const HELP = `Usage: strongroom rebuild DIR [options]

Makes the database of a data folder anew, where it is missing or cannot be read: of the newest dump (*.jsonl) that is in
the folder, in its folder dumps or beside it, and the stored bytes that are there. Verifies the ledger, re-hashes all
stored bytes, and says what could not be had. A database that can be read is never replaced; one that cannot is kept
under another name. The archive keeps its name and its key.

  --dump FILE        reads this dump
  --accept-rollback  takes a dump that is behind what the node acknowledged or signed: with a new key, and an entry that
                     says so
  --json             one JSON object instead of sentences

Ends with 0 if everything is there, 1 if something is missing, 2 if it could not be done.`;

/** Digests that are named one by one. */
const NAMED = 20;

export const rebuild: Command = {
  name: 'rebuild',
  summary: 'make a lost database anew, of a dump and the stored bytes',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        dump: { type: 'string' },
        'accept-rollback': { type: 'boolean', default: false },
        json: JSON_OPTION,
      },
    });
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
      const told = {
        ok,
        dump: from,
        entries: head.checkpoint.size,
        set_aside: set_aside ?? null,
        passed_over,
      };
      print(JSON.stringify({ ...told, key: key ?? null, checked, bytes, damaged_objects, damaged }));
    } else {
      for (const line of describeRebuild(rebuilt)) print(line);
      if (key !== undefined) printError(key);
      tell(found);
    }
    return ok ? 0 : 1;
  },
};

/** Opens the archive as a start does, so that the journal's blobs are in place; why its key is not, where it is not. */
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

/** What a rebuilt database was made of, and what a dump does not hold. */
export function describeRebuild({ dump, head, setAside, passedOver }: RebuildResult): string[] {
  return [
    ...passedOver.map((why) => `Passed over: ${shown(why)}`),
    ...(setAside === undefined ? [] : [`The database that could not be read is called ${setAside} now.`]),
    `The database was made anew of ${shown(dump)}: ${head.checkpoint.size} entries, and the ledger holds.`,
    'Settings, invitations and the values of headers that sources are asked with are in no dump: set them anew.',
  ];
}

function tell({ checked, bytes, damaged_objects, damaged }: Told): void {
  for (const { sha256, problem, found } of damaged.slice(0, NAMED))
    printError(`${sha256}: ${SAID[problem](found)}.`);
  const all = `${checked} ${checked === 1 ? 'object' : 'objects'}, ${bytes} bytes`;
  if (damaged_objects === 0) print(`All stored bytes are there: ${all}.`);
  else
    printError(
      `${damaged_objects} of ${all} are missing or damaged. Add them again: the pack files, or a check of the sources.`,
    );
}
