import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { Problem } from '../../../shared/problems.ts';
import { BAG_FILES } from '../../archive/packs/bag/bag.ts';
import { RECORD_FILE } from '../../archive/packs/bag/tagFiles.ts';
import { listFolder, type PackedFolder, packFolder } from '../../archive/packs/file/packFolder.ts';
import {
  type Command,
  type ExitCode,
  JSON_OPTION,
  optionsHelp,
  print,
  printError,
  UsageError,
} from '../options.ts';
import { isFolder, pathWithin, readRecord, requireRecordFile, SMALLEST_RECORD } from '../recordFile.ts';
import { escapeForTerminal } from '../terminal.ts';

const OPTIONS = {
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

const HELP = `Usage: strongroom pack DIR [options]

Creates a pack file from a folder, with the same checks as an upload. Only an archive can check the node, the study and
the packs that the record names. Every file in the folder is packed; symbolic links are refused.

${optionsHelp(OPTIONS)}

The record may omit “files”. If it lists them, the folder must hold exactly those files. The smallest record is
${SMALLEST_RECORD}

If DIR is an extracted pack file, its “data” folder is packed.

Exit code: 0 if the pack file was written, 1 if a check failed, 2 if the pack file could not be created.`;

export const pack: Command = {
  name: 'pack',
  summary: 'create a pack file from a folder',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
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
  if (json) return print(JSON.stringify({ ok: true, id, digest, file, bytes, files }));
  const count = files === 1 ? '1 file' : `${files} files`;
  print(`${escapeForTerminal(file)} holds the pack ${id}: ${count}, ${bytes} bytes, fingerprint ${digest}.`);
}

function printProblem({ code, message, extra: { errors = [] } }: Problem, json: boolean): void {
  if (json) return print(JSON.stringify({ ok: false, code, detail: message, errors }));
  printError(`No pack file was written. ${escapeForTerminal(message)} (${code})`);
  for (const error of errors.slice(1))
    printError(`${escapeForTerminal(error.path)}: ${escapeForTerminal(error.message)}`);
}
