import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { parseJsonBytes } from '../../shared/checkBody.ts';
import { MAX_RECORD_BYTES, PACK_FORMAT, TERMS_VERSION } from '../../shared/limits.ts';
import { Problem } from '../../shared/problems.ts';
import { BAG_FILES, RECORD_FILE } from '../archive/packs/bag/bag.ts';
import { listFolder } from '../archive/packs/file/listFolder.ts';
import { type PackedFolder, packFolder } from '../archive/packs/file/packFolder.ts';
import { recordTooLarge } from '../archive/packs/record.ts';
import { type Command, type ExitCode, JSON_OPTION, print, printError, UsageError } from './command.ts';
import { shown } from './shown.ts';

const SMALLEST_RECORD = JSON.stringify({
  pack_format: PACK_FORMAT,
  terms_version: TERMS_VERSION,
  title: 'What this is',
  authors: [{ name: 'Who made it' }],
  license: 'CC-BY-4.0',
  outcome: 'positive',
});

const HELP = `Usage: strongroom pack DIR [options]

Makes a pack file from a folder and checks everything that an upload would check, but for the node, the study and the
packs that the record names, which only the archive knows. Every file in the folder is packed; symbolic links are
refused.

  --record FILE   the record, as JSON (default: pack.json in DIR, which then is not packed). It may leave out “files”;
                  where it lists them, the folder must hold exactly those. The smallest record is
                  ${SMALLEST_RECORD}
  -o FILE         where the pack file is written (default: <id>.pack.zip, here)
  --json          one JSON object that says what was written, or what is wrong

A folder that is an extracted pack file is packed again from its “data” folder.

Ends with 0 if the pack file was written, 1 if a check failed, 2 if it could not be done.`;

export const pack: Command = {
  name: 'pack',
  summary: 'make a pack file from a folder',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        record: { type: 'string' },
        output: { type: 'string', short: 'o' },
        json: JSON_OPTION,
      },
    });
    const [folder, ...more] = positionals;
    if (folder === undefined || more.length > 0) throw new UsageError('Name the one folder that is packed.');
    if (!(await isFolder(folder))) throw new UsageError(`${shown(folder)} is no folder.`);
    const recordFile = values.record ?? join(folder, RECORD_FILE);
    const isOwn = values.record === undefined;
    await requireRecordFile(recordFile, isOwn);
    try {
      const root = isOwn && (await isExtracted(folder)) ? join(folder, 'data') : folder;
      const packed = await packFolder({
        folder: root,
        except: new Set([pathWithin(root, recordFile)]),
        record: await readRecord(recordFile),
        fileOf: (id) => outside(root, values.output ?? `${id}.pack.zip`),
      });
      tell(packed, values.json);
      return 0;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      tellProblem(error, values.json);
      return 1;
    }
  },
};

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

async function requireRecordFile(file: string, isDefault: boolean): Promise<void> {
  if ((await stat(file).catch(() => undefined))?.isFile()) return;
  const advice = isDefault
    ? ` Write it, or name another with --record. The smallest is ${SMALLEST_RECORD}.`
    : '';
  throw new UsageError(`There is no record ${shown(file)}.${advice}`);
}

/** @throws Problem `body_too_large`, `invalid_json`, `not_canonical` */
async function readRecord(file: string): Promise<unknown> {
  if ((await stat(file)).size > MAX_RECORD_BYTES) throw recordTooLarge();
  return parseJsonBytes(await readFile(file));
}

/** Whether a folder is a pack file as it was extracted: its data in `data/`, and nothing else but tag files. */
async function isExtracted(folder: string): Promise<boolean> {
  if (!(await isFolder(join(folder, 'data')))) return false;
  return (await listFolder(folder)).every((path) => path.startsWith('data/') || BAG_FILES.has(path));
}

function pathWithin(folder: string, file: string): string {
  return relative(folder, file).replaceAll(sep, '/');
}

/** @throws UsageError where the pack file would lie in the folder that it is made of, and change it. */
function outside(folder: string, file: string): string {
  const target = resolve(file);
  const way = relative(resolve(folder), target);
  // On Windows there is no way from one drive to another, and the target comes back as it is.
  if (way.startsWith(`..${sep}`) || isAbsolute(way)) return target;
  throw new UsageError('The pack file would lie in the folder that it packs; give another place with -o.');
}

function tell({ id, digest, file, bytes, files }: PackedFolder, json: boolean): void {
  if (json) return print(JSON.stringify({ ok: true, id, digest, file, bytes, files }));
  const counted = files === 1 ? '1 file' : `${files} files`;
  print(`${shown(file)} holds the pack ${id}: ${counted}, ${bytes} bytes, fingerprint ${digest}.`);
}

function tellProblem({ code, message, extra: { errors = [] } }: Problem, json: boolean): void {
  if (json) return print(JSON.stringify({ ok: false, code, detail: message, errors }));
  printError(`No pack file was written. ${shown(message)} (${code})`);
  for (const error of errors.slice(1)) printError(`${shown(error.path)}: ${shown(error.message)}`);
}
