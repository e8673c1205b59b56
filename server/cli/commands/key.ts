import { parseArgs } from 'node:util';
import type { KeyChange } from '../../../shared/ledger/ledger.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { recordedKey } from '../../ledger/detectRollback.ts';
import { continueWithSameKey, openArchive } from '../../ledger/openArchive.ts';
import { withReadOnlyDatabase } from '../../store/opening/inspectFolder.ts';
import {
  ACCEPT_ROLLBACK_OPTION,
  ARCHIVE_OPTIONS,
  type Command,
  type ExitCode,
  NODE_OPTIONS,
  optionsHelp,
  print,
  printError,
  printJson,
  UsageError,
} from '../command.ts';
import { archiveFolder } from '../dataFolder.ts';
import { connectToNode } from '../node/withNode.ts';

const OPTIONS = {
  renew: {
    type: 'boolean',
    default: false,
    help: 'give the archive a new key, because the old key was lost or disclosed; a ledger entry names both keys, signed by the old key if it is still present',
  },
  'same-key': {
    type: 'boolean',
    default: false,
    help: 'continue an archive that was restored from a copy with its old key, after you have put the file “key” back; only if nothing was signed after the copy',
  },
  'accept-rollback': ACCEPT_ROLLBACK_OPTION,
  ...ARCHIVE_OPTIONS,
} as const;

const HELP = `Usage: strongroom key [options]

Prints the key that verifies the node's checkpoints (name+hash+key). With --renew or --accept-rollback, replaces the
key. With --same-key, keeps the key of an archive that was restored from a copy. No node may have the folder open then.

${optionsHelp(OPTIONS)}

The file of an old key stays in the data folder as key.retired-…; keep it secret, or delete it.

Exit code: 0 if it was done, 2 if it could not be done.`;

export const key: Command = {
  name: 'key',
  summary: 'print or renew the key of the node’s checkpoints, or accept a rollback',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values } = parseArgs({ args, options: OPTIONS });
    const folder = archiveFolder(values.data);
    const { renew: renewKey, 'accept-rollback': acceptRollback } = values;
    if (values['same-key']) await continueWithSameKey(folder);
    if (!renewKey && !acceptRollback) {
      const known = await withReadOnlyDatabase(folder, async (examined) => recordedKey(examined));
      if (known === undefined) throw new UsageError(`No node has opened the archive in ${folder} yet.`);
      if (values.json) printJson({ key: known });
      else print(known);
      return 0;
    }
    const warn = (_: object, sentence: string) => printError(sentence);
    const opened = await openArchive({ folder, clock: systemClock, renewKey, acceptRollback, warn });
    await opened.store.close();
    const { keyChange } = opened;
    const { verifierKey } = opened.key;
    if (values.json) printJson({ key: verifierKey, change: keyChange ?? null });
    else print(describeChange(verifierKey, keyChange));
    return 0;
  },
};

function describeChange(verifierKey: string, change: KeyChange | undefined): string {
  if (!change)
    return `There is nothing to accept: the archive is not behind its own records. Its key is ${verifierKey}`;
  const first = `Entry ${change.ledger_entry} records the change. The key is now ${verifierKey}`;
  if (change.type === 'key.renewed')
    return change.signature === null
      ? `${first}\nThe old key was missing, so it did not sign the change.`
      : first;
  const { from, to } = change;
  return `${first}\nThe ledger reached entry ${from.seq ?? 'unknown'} before; the archive continues after entry ${to.seq}.\nWhat was withheld or released after that entry no longer is. Withhold or release it again before you share the archive.`;
}

const SIGN_IN_HELP = `Usage: strongroom sign-in [options]

Prints a link that signs one browser in as the owner of a running node. The link works once. If the node has a public
address, the second line is the same link at that address; only one of the two can be used.

${optionsHelp(NODE_OPTIONS)}

With --json: {"url": …}, and "public_url" if the node has a public address.`;

export const signIn: Command = {
  name: 'sign-in',
  summary: 'print a one-time link that signs a browser in as the owner',
  help: SIGN_IN_HELP,
  async run(args): Promise<ExitCode> {
    const { values } = parseArgs({ args, options: NODE_OPTIONS });
    const node = await connectToNode(values);
    const link = await node.call('createSignInLink');
    if (values.json) printJson(link);
    else print(Object.values(link).join('\n'));
    return 0;
  },
};
