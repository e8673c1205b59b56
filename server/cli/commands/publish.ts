import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { PART_BYTES } from '../../../shared/archive/setManifest.ts';
import { Problem } from '../../../shared/problems.ts';
import { RECORD_FILE } from '../../archive/packs/bag/tagFiles.ts';
import { omitsFiles } from '../../archive/packs/file/writePackFile.ts';
import {
  type Command,
  type ExitCode,
  NODE_OPTIONS,
  optionsHelp,
  print,
  printError,
  requireOne,
  UsageError,
} from '../options.ts';
import { type PublishedFolder, publishFolder } from '../publishing/publishFolder.ts';
import { isFolder, pathWithin, readRecord, requireRecordFile, SMALLEST_RECORD } from '../recordFile.ts';
import { connectToNode } from '../runningNode.ts';
import { escapeForTerminal, openProgress } from '../terminal.ts';

const OPTIONS = {
  record: {
    type: 'string',
    value: 'FILE',
    help: 'the record, as JSON (default: pack.json in DIR, which is not published then)',
  },
  'part-bytes': {
    type: 'string',
    value: 'N',
    help: `the largest size of the files of a part of a set (default: ${PART_BYTES})`,
  },
  ...NODE_OPTIONS,
} as const;

const HELP = `Usage: strongroom publish DIR [options]

Publishes a folder through the running node. A folder of at most 50 MB and 5,000 files becomes a pack. A larger one becomes a
set: packs of at most 50 MB each, and a manifest that lists the files. The manifest is published last; before it, nothing is
listed.

If the command is interrupted, run it again: it goes on where it was, and sends no part again that the node has. A file
that changed since it was sent is sent again. What was sent is noted in the folder “publishing” of the data folder.

${optionsHelp(OPTIONS)}

The record has no “files”. The smallest record is
${SMALLEST_RECORD}

Exit code: 0 if the folder was published, 1 if the folder or the record was refused, 2 if it could not be published.`;

export const publish: Command = {
  name: 'publish',
  summary: 'publish a folder as a pack, or as a set if it has more than 50 MB',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    const folder = requireOne(positionals, 'Name the one folder to publish.');
    if (!(await isFolder(folder))) throw new UsageError(`${escapeForTerminal(folder)} is not a folder.`);
    const recordFile = values.record ?? join(folder, RECORD_FILE);
    await requireRecordFile(recordFile, values.record === undefined);
    // Decision 34: V8 would keep 100 MB more for new objects.
    setFlagsFromString('--semi-space-growth-factor=1');
    const progress = openProgress(process.stderr);
    try {
      const record = await readRecord(recordFile);
      if (!omitsFiles(record)) throw new UsageError('The record lists “files”. Leave them out.');
      const published = await publishFolder(await connectToNode(values), {
        folder: resolve(folder),
        except: new Set([pathWithin(folder, recordFile)]),
        record,
        notes: join(resolve(values.data), 'publishing'),
        partBytes: partBytesOf(values['part-bytes']),
        found: (bytes) => progress.found(bytes),
        read: (bytes) => progress.read(bytes),
        changed: (paths) => {
          progress.clear();
          for (const path of paths.slice(0, MAX_NAMED))
            printError(`${escapeForTerminal(path)} changed since it was sent, and is sent again.`);
          if (paths.length > MAX_NAMED) printError(`So are ${paths.length - MAX_NAMED} others.`);
        },
      });
      progress.clear();
      printPublished(published, values.json);
      return 0;
    } catch (error) {
      progress.clear();
      if (!(error instanceof Problem)) throw error;
      printError(escapeForTerminal(error.message));
      return 1;
    }
  },
};

const MAX_NAMED = 10;

/** @throws UsageError */
function partBytesOf(value: string | undefined): number {
  if (value === undefined) return PART_BYTES;
  const bytes = Number(value);
  if (!Number.isInteger(bytes) || bytes < 1 || bytes > PART_BYTES)
    throw new UsageError(`--part-bytes is a whole number from 1 to ${PART_BYTES}.`);
  return bytes;
}

function printPublished(published: PublishedFolder, json: boolean): void {
  if (json) return print(JSON.stringify(published));
  const { pack, files, bytes, parts, sent } = published;
  print(`Published ${files} files with ${bytes} bytes as ${pack}.`);
  if (parts > 0) print(`The set has ${parts} parts; this run has sent ${sent}.`);
}
