import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { PART_BYTES } from '../../../shared/archive/setManifest.ts';
import { MAX_RECORD_BYTES, PACK_FORMAT, TERMS_VERSION } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import { parseJsonBytes } from '../../../shared/values/checkBody.ts';
import { BAG_FILES } from '../../archive/packs/bag/bag.ts';
import { RECORD_FILE } from '../../archive/packs/bag/tagFiles.ts';
import { omitsFiles, recordTooLarge } from '../../archive/packs/checkRecord.ts';
import { listFolder, type PackedFolder, packFolder } from '../../archive/packs/file/packFolder.ts';
import {
  type Command,
  type ExitCode,
  escapeForTerminal,
  JSON_OPTION,
  NODE_OPTIONS,
  openProgress,
  optionsHelp,
  print,
  printError,
  printJson,
  requireOne,
  UsageError,
} from '../command.ts';
import { withNode } from '../node/withNode.ts';
import { type PublishedFolder, publishFolder } from '../publishing/publishFolder.ts';

const SMALLEST_RECORD = JSON.stringify({
  pack_format: PACK_FORMAT,
  terms_version: TERMS_VERSION,
  title: 'The title of the pack',
  authors: [{ name: 'The name of an author' }],
  license: 'CC-BY-4.0',
  outcome: 'positive',
});

const PACK_OPTIONS = {
  record: {
    type: 'string',
    value: 'FILE',
    help: 'the record, as JSON (default: pack.json in DIR, which is not packed then)',
  },
  output: {
    type: 'string',
    short: 'o',
    value: 'FILE',
    help: 'the pack file to write (default: <id>.pack.zip in the current folder)',
  },
  json: JSON_OPTION,
} as const;

const PACK_HELP = `Usage: strongroom pack DIR [options]

Creates a pack file from a folder, with the same checks as an upload. Only an archive can check the node, the study and
the packs that the record names. Every file in the folder is packed; symbolic links are refused.

${optionsHelp(PACK_OPTIONS)}

The record may omit “files”. If it lists them, the folder must hold exactly those files. The smallest record is
${SMALLEST_RECORD}

If DIR is an extracted pack file, its “data” folder is packed.

Exit code: 0 if the pack file was written, 1 if a check failed, 2 if the pack file could not be created.`;

export const pack: Command = {
  name: 'pack',
  summary: 'create a pack file from a folder',
  help: PACK_HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: PACK_OPTIONS });
    const [folder, ...more] = positionals;
    if (folder === undefined || more.length > 0) throw new UsageError('Name the one folder to pack.');
    if (!(await isFolder(folder))) throw new UsageError(`${escapeForTerminal(folder)} is not a folder.`);
    const recordFile = values.record ?? join(folder, RECORD_FILE);
    const isDefault = values.record === undefined;
    await requireRecordFile(recordFile, isDefault);
    try {
      const root = isDefault && (await isExtracted(folder)) ? join(folder, 'data') : folder;
      const packed = await packFolder({
        folder: root,
        except: new Set([pathWithin(root, recordFile)]),
        record: await readRecord(recordFile),
        fileOf: (id) => requireOutside(root, values.output ?? `${id}.pack.zip`),
      });
      printPacked(packed, values.json);
      return 0;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      printProblem(error, values.json);
      return 1;
    }
  },
};

/** Returns whether a folder is an extracted pack file: it holds `data/` and tag files only. */
async function isExtracted(folder: string): Promise<boolean> {
  if (!(await isFolder(join(folder, 'data')))) return false;
  return (await listFolder(folder)).every((path) => path.startsWith('data/') || BAG_FILES.has(path));
}

/** @throws UsageError if the pack file would be written into the folder that is packed */
function requireOutside(folder: string, file: string): string {
  const target = resolve(file);
  const path = relative(resolve(folder), target);
  // On Windows, `relative` returns an absolute path if the drives differ.
  if (path.startsWith(`..${sep}`) || isAbsolute(path)) return target;
  throw new UsageError(
    'The pack file cannot be written into the folder that is packed; choose another place with -o.',
  );
}

function printPacked({ id, digest, file, bytes, files }: PackedFolder, json: boolean): void {
  if (json) return printJson({ ok: true, id, digest, file, bytes, files });
  const count = files === 1 ? '1 file' : `${files} files`;
  print(`${escapeForTerminal(file)} holds the pack ${id}: ${count}, ${bytes} bytes, fingerprint ${digest}.`);
}

function printProblem({ code, message, extra: { errors = [] } }: Problem, json: boolean): void {
  if (json) return printJson({ ok: false, code, detail: message, errors });
  printError(`No pack file was written. ${escapeForTerminal(message)} (${code})`);
  for (const error of errors.slice(1))
    printError(`${escapeForTerminal(error.path)}: ${escapeForTerminal(error.message)}`);
}

const PUBLISH_OPTIONS = {
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

const PUBLISH_HELP = `Usage: strongroom publish DIR [options]

Publishes a folder. A folder of at most 50 MB and 5,000 files becomes a pack. A larger one becomes a
set: packs of at most 50 MB each, and a manifest that lists the files. The manifest is published last; before it, nothing is
listed. Each part is public as soon as the node has it, also if the command is interrupted.

If the command is interrupted, run it again: it goes on where it was, and sends no part again that the node has. A file
that changed since it was sent is sent again. What was sent is noted in the folder “publishing” of the data folder.

${optionsHelp(PUBLISH_OPTIONS)}

The record has no “files”. The smallest record is
${SMALLEST_RECORD}

Exit code: 0 if the folder was published, 1 if the folder or the record was refused, 2 if it could not be published.`;

export const publish: Command = {
  name: 'publish',
  summary: 'publish a folder as a pack, or as a set if it has more than 50 MB',
  help: PUBLISH_HELP,
  async run(args, config): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: PUBLISH_OPTIONS });
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
      const input = {
        folder: resolve(folder),
        except: new Set([pathWithin(folder, recordFile)]),
        record,
        notes: join(resolve(values.data), 'publishing'),
        partBytes: partBytesOf(values['part-bytes']),
        found: (bytes: number) => progress.found(bytes),
        read: (bytes: number) => progress.read(bytes),
        // Scripts expect only errors on standard error.
        isSet: () => {
          if (process.stderr.isTTY)
            printError(
              'It becomes a set. Each part is public as soon as the node has it, also if the command is interrupted.',
            );
        },
        changed: (paths: readonly string[]) => {
          progress.clear();
          for (const path of paths.slice(0, MAX_NAMED))
            printError(`${escapeForTerminal(path)} changed since it was sent, and is sent again.`);
          if (paths.length > MAX_NAMED) printError(`So are ${paths.length - MAX_NAMED} others.`);
        },
      };
      const published = await withNode(values, config, (node) => publishFolder(node, input));
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
  if (json) return printJson(published);
  const { pack, files, bytes, parts, sent } = published;
  print(`Published ${files} files with ${bytes} bytes as ${pack}.`);
  if (parts > 0) print(`The set has ${parts} parts; this run has sent ${sent}.`);
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

async function requireRecordFile(file: string, isDefault: boolean): Promise<void> {
  if ((await stat(file).catch(() => undefined))?.isFile()) return;
  const advice = isDefault
    ? ` Create it, or name another file with --record. The smallest record is ${SMALLEST_RECORD}.`
    : '';
  throw new UsageError(`There is no record ${escapeForTerminal(file)}.${advice}`);
}

/** @throws Problem `body_too_large`, `invalid_json`, `not_canonical` */
async function readRecord(file: string): Promise<unknown> {
  if ((await stat(file)).size > MAX_RECORD_BYTES) throw recordTooLarge();
  return parseJsonBytes(await readFile(file));
}

/** Returns the path of a file relative to a folder, with `/`. */
function pathWithin(folder: string, file: string): string {
  return relative(folder, file).replaceAll(sep, '/');
}
