import { parseArgs } from 'node:util';
import { systemClock } from '../../shared/clock.ts';
import type { KeyChange } from '../../shared/keyChange.ts';
import { recordedKey } from '../ledger/detectRollback.ts';
import { openArchive } from '../ledger/openArchive.ts';
import { withReadOnlyDatabase } from '../store/opening/inspectFolder.ts';
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

const HELP = `Usage: strongroom key [options]

Prints the key that others check the node's checkpoints with (name+hash+key).

  --renew            gives the archive a new key: after the old one was lost, or became known to others. The ledger gets
                     an entry that names both, signed by the old key where it is still there
  --accept-rollback  goes on with a database that is behind what the node acknowledged or signed, after an older copy of
                     it was put back or its log was lost: with a new key, and an entry that names both heads
  --data DIR         the data folder (default: ./strongroom-data); no node may have it open for a change
  --json             one JSON object instead of a line

An old key's file stays in the data folder as key.retired-…; keep it secret, or remove it.

Ends with 0 if it was done, 2 if it could not be done.`;

export const key: Command = {
  name: 'key',
  summary: 'print the key of the node’s checkpoints, renew it, or go on after a rollback',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values } = parseArgs({
      args,
      options: {
        renew: { type: 'boolean', default: false },
        'accept-rollback': { type: 'boolean', default: false },
        data: DATA_OPTION,
        json: JSON_OPTION,
      },
    });
    const folder = archiveFolder(values.data);
    const { renew: renewKey, 'accept-rollback': acceptRollback } = values;
    if (!renewKey && !acceptRollback) {
      const known = await withReadOnlyDatabase(folder, async (examined) => recordedKey(examined));
      if (known === undefined) throw new UsageError(`No node has opened the archive in ${folder} yet.`);
      print(values.json ? JSON.stringify({ key: known }) : known);
      return 0;
    }
    const warn = (_: object, sentence: string) => printError(sentence);
    const opened = await openArchive({ folder, clock: systemClock, renewKey, acceptRollback, warn });
    await opened.store.close();
    const { keyChange } = opened;
    const { verifierKey } = opened.key;
    if (values.json) print(JSON.stringify({ key: verifierKey, change: keyChange ?? null }));
    else print(sentenceOf(verifierKey, keyChange));
    return 0;
  },
};

function sentenceOf(verifierKey: string, change: KeyChange | undefined): string {
  if (!change)
    return `There is nothing to accept: the archive is the one that it was left as. Its key is ${verifierKey}`;
  const first = `Entry ${change.ledger_entry} records it. The key is now ${verifierKey}`;
  if (change.type === 'key.renewed')
    return change.signature === null ? `${first}\nThe old key was not there to sign it.` : first;
  const { from, to } = change;
  return `${first}\nThe ledger went to entry ${from.seq ?? 'unknown'}; the archive goes on after entry ${to.seq}.`;
}
