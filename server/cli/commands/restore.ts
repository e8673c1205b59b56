import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../../shared/values/clock.ts';
import { type Command, type ExitCode, print, printError } from '../command.ts';
import { TARGET_HELP, TARGET_OPTIONS, targetOf } from '../copyTarget.ts';
import { requireEmpty } from '../emptyFolder.ts';
import { ARCHIVE_OPTIONS, optionsHelp } from '../options.ts';
import { askPassphrase, PASSPHRASE_HELP } from '../passphrase.ts';

const OPTIONS = {
  key: {
    type: 'boolean',
    default: false,
    help: 'also restore the key that the copy holds, encrypted with a passphrase',
  },
  ...ARCHIVE_OPTIONS,
  ...TARGET_OPTIONS,
} as const;

const HELP = `Usage: strongroom restore TARGET --data DIR [options]

Makes an archive from a copy. Everything is verified: the signature of the checkpoint, each record against its ledger
entry, each object against its digest. The data folder must be empty or not exist.

The archive has the same ledger and gives the same answers. It refuses writes until you choose its key: “strongroom key
--renew --data DIR” makes a new one; “strongroom key --same-key --data DIR” continues with the old one if you have put
its file “key” back, or restored it with --key, and nothing was signed after the copy.

${PASSPHRASE_HELP}

${TARGET_HELP}

${optionsHelp(OPTIONS)}

Exit code: 0 if everything was restored, 1 if objects are missing or damaged in the copy, 2 if nothing was restored.`;

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
    const passphrase = values.key ? await askPassphrase({ isNew: false }) : undefined;
    // Loaded here, so that the list of commands does not wait for it.
    const { restoreCopy } = await import('../../copies/restore.ts');
    const { openTarget } = await import('../../copies/targets/openTarget.ts');
    const target = await openTarget({
      target: address,
      endpoint: values.endpoint,
      region: values.region,
    });
    try {
      const { head, objects, bytes, missing } = await restoreCopy({
        target,
        folder,
        clock: systemClock,
        passphrase,
        signal: new AbortController().signal,
        progress: () => {},
      });
      const ok = missing.length === 0;
      const entries = head.checkpoint.size;
      if (values.json) print(JSON.stringify({ ok, folder, entries, objects, bytes, missing }));
      else {
        for (const sha256 of missing.slice(0, MAX_LISTED))
          printError(`${sha256}: the copy does not hold it intact.`);
        if (!ok) printError(`${missing.length} objects could not be restored.`);
        print(`${folder} was restored: ${entries} entries, ${objects} objects, ${bytes} bytes.`);
        print('The archive is read-only until you choose its key: “strongroom key --renew” or “--same-key”.');
      }
      return ok ? 0 : 1;
    } finally {
      target.close();
    }
  },
};
