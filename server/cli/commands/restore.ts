import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../../shared/values/clock.ts';
import { countOf } from '../../../shared/values/counts.ts';
import type { RestoreResult } from '../../copies/restore.ts';
import {
  ARCHIVE_OPTIONS,
  askPassphrase,
  type Command,
  type ExitCode,
  escapeForTerminal,
  optionsHelp,
  PASSPHRASE_HELP,
  print,
  printError,
  printJson,
  TARGET_HELP,
  TARGET_OPTIONS,
  targetOf,
  UsageError,
} from '../command.ts';
import { requireEmpty } from '../dataFolder.ts';

const OPTIONS = {
  key: {
    type: 'boolean',
    default: false,
    help: 'also restore the keys that the copy holds, encrypted with a passphrase',
  },
  identity: {
    type: 'string',
    value: 'FILE',
    help: 'decrypt sealed findings with the identities in this file: withheld.key of the old data folder',
  },
  ...ARCHIVE_OPTIONS,
  ...TARGET_OPTIONS,
} as const;

const HELP = `Usage: strongroom restore TARGET --data DIR [options]

Makes an archive from a copy. Everything is verified: the signature of the checkpoint, each record against its ledger
entry, each object against its digest, and every file that is read against the signed list of the copy. What that list does
not cover is named and restored all the same. The data folder must be empty or not exist.

The archive has the same ledger and gives the same answers. It refuses writes until you choose its key: “strongroom key
--renew --data DIR” makes a new one; “strongroom key --same-key --data DIR” continues with the old one if you have put
its file “key” back, or restored it with --key, and nothing was signed after the copy.

A copy with pages for readers does not have withheld objects: their number is printed, and they are not taken for missing.
Restore a copy without pages to get them, or add one to the archive and check it. Every copy has the records of sealed
findings encrypted. With --key or --identity they are decrypted; without, they stay sealed and everything else is restored.

${PASSPHRASE_HELP}

${TARGET_HELP}

${optionsHelp(OPTIONS)}

Exit code: 0 if everything that the copy has was restored, 1 if objects are missing or damaged in it, if findings could not be
decrypted, or if a file is not as the signed list says, 3 if nothing is wrong but the copy has no signed list (earlier versions sent none), 2
if nothing was restored.`;

/** @throws UsageError */
async function identityOf(file: string): Promise<string> {
  const { identityIn } = await import('../../copies/keys/copyKeys.ts');
  const identity = identityIn(await readFile(file, 'utf8'));
  if (identity === undefined) throw new UsageError(`--identity: ${file} has no age identity.`);
  return identity;
}

/** At most so many missing objects are listed. */
const MAX_LISTED = 20;

export const restore: Command = {
  name: 'restore',
  summary: 'make an archive from a copy, in a folder or a bucket',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    const address = targetOf(positionals);
    const folder = resolve(values.data);
    await requireEmpty(folder);
    const identity = values.identity === undefined ? undefined : await identityOf(values.identity);
    const passphrase = values.key ? await askPassphrase({ isNew: false }) : undefined;
    // Loaded here, so that the list of commands does not wait for it.
    const { restoreCopy } = await import('../../copies/restore.ts');
    const { coverageSentence } = await import('../../copies/signedList.ts');
    const { openTarget } = await import('../../copies/targets/openTarget.ts');
    const target = await openTarget({
      target: address,
      endpoint: values.endpoint,
      region: values.region,
    });
    try {
      const result = await restoreCopy({
        target,
        folder,
        clock: systemClock,
        passphrase,
        identity,
        signal: new AbortController().signal,
        progress: () => {},
      });
      if (values.json) printJson(asJson(result, folder));
      else printSentences(result, { folder, notSigned: coverageSentence(result, target) });
      if (isWhole(result) && result.uncovered.length === 0) return 0;
      return isWhole(result) && result.list === 'missing' ? 3 : 1;
    } finally {
      await target.close();
    }
  },
};

/** Whether all objects and findings that the copy has were restored. */
function isWhole({ missing, sealed }: RestoreResult): boolean {
  return missing.length + sealed === 0;
}

function asJson(result: RestoreResult, folder: string): object {
  const { head, objects, bytes, missing, withheld, released, sealed, list, uncovered } = result;
  const ok = isWhole(result) && uncovered.length === 0;
  const entries = head.checkpoint.size;
  return { ok, folder, entries, objects, bytes, missing, withheld, released, sealed, list, uncovered };
}

interface Told {
  folder: string;
  /** The sentence that says what no signature covers. */
  notSigned: string | undefined;
}

function printSentences(result: RestoreResult, { folder, notSigned }: Told): void {
  const { head, objects, bytes, missing, withheld, released, sealed, isKeyOlder, list, uncovered } = result;
  const entries = head.checkpoint.size;
  for (const sha256 of missing.slice(0, MAX_LISTED)) printError(`${sha256}: missing or damaged in the copy.`);
  if (missing.length > 0) printError(`${countOf(missing.length, 'object')} could not be restored.`);
  if (sealed > 0)
    printError(
      `${countOf(sealed, 'sealed finding stays', 'sealed findings stay')} sealed: without the key, only the commitments could be read. Restore with --key or --identity.`,
    );
  if (list === 'valid')
    for (const path of uncovered.slice(0, MAX_LISTED))
      printError(`${escapeForTerminal(path)}: not as the signed list of the copy says.`);
  if (notSigned !== undefined) printError(escapeForTerminal(notSigned));
  if (withheld > 0)
    print(
      `${countOf(withheld, 'withheld object is', 'withheld objects are')} not in this copy, because it has pages. Add a copy without pages that has ${withheld === 1 ? 'it' : 'them'}, and check it.`,
    );
  if (released > 0)
    print(`${countOf(released, 'object was', 'objects were')} given up: the record and the digest remain.`);
  print(
    `${folder} was restored: ${countOf(entries, 'entry', 'entries')}, ${countOf(objects, 'object')}, ${bytes} bytes.`,
  );
  if (isKeyOlder)
    print(
      'The key in the copy is not the one that signed it, because the archive got a new key later. It was not restored, only what decrypts sealed findings.',
    );
  print('The archive is read-only until you choose its key: “strongroom key --renew” or “--same-key”.');
}
