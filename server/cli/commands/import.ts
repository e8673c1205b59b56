import { createReadStream } from 'node:fs';
import { basename, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type CaptureResult, observerSchema } from '../../../shared/collection/captures.ts';
import { ADD_EARLIER_KEY } from '../../../shared/findings/finding.ts';
import { MAX_CAPTURE_FILE_BYTES } from '../../../shared/limits.ts';
import { Problem } from '../../../shared/problems.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { countOf } from '../../../shared/values/counts.ts';
import { describeCaptureFile } from '../../collection/captures/captures.ts';
import type { FileDescription } from '../../collection/captures/warc/readWarcFile.ts';
import type { NodeConfig } from '../../config.ts';
import type { DumpHead } from '../../dump/checkDump.ts';
import { DumpError } from '../../dump/dumpFile.ts';
import { importArchive, importDump, isArchiveFile } from '../../dump/importArchive.ts';
import { isMissing } from '../../store/blobs/blobStore.ts';
import { hasMember } from '../../zip/openZip.ts';
import {
  type Command,
  type ExitCode,
  escapeForTerminal,
  NODE_OPTIONS,
  optionsHelp,
  print,
  printError,
  printJson,
  UsageError,
} from '../command.ts';
import { requireEmpty } from '../dataFolder.ts';
import { type NodeClient, RefusedByNodeError } from '../node/nodeClient.ts';
import { type NodeOptions, withNode } from '../node/withNode.ts';

const OPTIONS = {
  ...NODE_OPTIONS,
  observer: {
    type: 'string',
    value: 'NAME',
    help: 'the observer of the captures (default: the publisher, operator or collection that the file names, else the name of the file)',
  },
} as const;

const HELP = `Usage: strongroom import FILE… [options]

Imports files into a data folder. If a node has the folder open, pack files and captures are imported by that node.

  pack files (.pack.zip)       adds the packs, with the same checks as an upload
  a dump (.jsonl)              creates an archive with the same ledger; a dump does not contain the blobs
  an exported archive (.zip)   creates an equal archive with its blobs; see “strongroom export”
  captures (.warc, .warc.gz, .wacz)
                               adds captures of another observer; see docs/captures.md

A dump or an exported archive needs a data folder that does not exist or is empty.

${optionsHelp(OPTIONS)}

Exit code: 0 if everything was imported, 1 if a file was refused or is damaged, 2 if the import could not be done.`;

interface Imported {
  file: string;
  ok: boolean;
  kind?: 'pack' | 'dump' | 'archive' | 'captures';
  sentence: string;
  code?: string;
  /** The number of the invalid line of a dump. */
  line?: number;
  id?: string;
  /** Of a dump or an exported archive: whether the key signed all of the dump. */
  signed?: boolean;
}

export const importFiles: Command = {
  name: 'import',
  summary: 'import pack files, captures, a dump or an exported archive',
  help: HELP,
  async run(args, config): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    if (positionals.length === 0) throw new UsageError('Name the files to import.');
    const observer = values.observer === undefined ? undefined : requireObserver(values.observer);
    let refused = 0;
    for (const file of positionals) {
      const imported = await importFile(values, config, file, observer);
      if (!imported.ok) refused += 1;
      if (values.json) printJson(imported);
      else
        (imported.ok ? print : printError)(
          `${escapeForTerminal(file)}: ${escapeForTerminal(imported.sentence)}`,
        );
    }
    return refused > 0 ? 1 : 0;
  },
};

async function importFile(
  options: NodeOptions,
  config: Partial<NodeConfig>,
  file: string,
  observer: string | undefined,
): Promise<Imported> {
  const folder = resolve(options.data);
  const byNode = (work: (node: NodeClient) => Promise<Imported>) => withNode(options, config, work);
  try {
    const beginning = await beginningOf(file);
    if (isCaptureFile(beginning)) return await byNode((node) => importCaptures(node, file, observer));
    if (beginning.toString('latin1', 0, 2) === 'PK') {
      if (await isArchiveFile(file)) return await importArchiveFile(folder, file);
      if (await isPackage(file)) return await byNode((node) => importCaptures(node, file, observer));
      return await byNode((node) => importPackFile(node, file));
    }
    if (beginning[0] !== DUMP_BEGINS_WITH)
      return {
        file,
        ok: false,
        sentence: 'This is not a pack file, an exported archive, a WARC file, a WACZ package or a dump.',
      };
    await requireEmpty(folder);
    const head = await importDump(folder, file, systemClock);
    const imported = `${countOf(head.counts.pack ?? 0, 'pack')} were imported into ${folder}`;
    return { file, ok: true, kind: 'dump', ...importedDump(imported, head) };
  } catch (error) {
    if (error instanceof Problem) return { file, ok: false, code: error.code, sentence: error.message };
    if (error instanceof RefusedByNodeError)
      return { file, ok: false, code: error.code, sentence: error.message };
    if (error instanceof DumpError) return { file, ok: false, sentence: error.message, line: error.line };
    throw error;
  }
}

/** Says what was imported from a dump, and what of it no signature covers. */
function importedDump(
  imported: string,
  { checkpoint, sealed, isSigned }: DumpHead,
): Pick<Imported, 'sentence' | 'signed'> {
  const sentences = [
    `${countOf(checkpoint.size, 'entry', 'entries')} and ${imported}; the ledger matches its signed checkpoint.`,
  ];
  if (!isSigned)
    sentences.push(
      'The dump is not signed: no signature covers the sources, the rounds and the cases, so they may have been changed.',
    );
  if (sealed > 0)
    sentences.push(
      `${countOf(sealed, 'finding stays', 'findings stay')} sealed: the key is not here. ${ADD_EARLIER_KEY}`,
    );
  return { sentence: sentences.join(' '), signed: isSigned };
}

async function importArchiveFile(folder: string, file: string): Promise<Imported> {
  await requireEmpty(folder);
  const { blobs, ...head } = await importArchive(folder, file, systemClock);
  const imported = `${countOf(blobs, 'blob')} were imported into ${folder}`;
  return { file, ok: true, kind: 'archive', ...importedDump(imported, head) };
}

async function importPackFile(node: NodeClient, file: string): Promise<Imported> {
  const chunks = createReadStream(file);
  const { json, isNew } = await node.send('addPack', { type: 'application/zip', chunks });
  const sentence = isNew ? `added as ${json.id}.` : `${json.id} is already in the archive.`;
  return { file, ok: true, kind: 'pack', id: json.id, sentence };
}

/** A dump begins with the object of its header. */
const DUMP_BEGINS_WITH = '{'.charCodeAt(0);

/** Reads the first bytes of a file, which identify its format. */
async function beginningOf(file: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of createReadStream(file, { end: 7 }) as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch (error) {
    if (isMissing(error)) throw new UsageError(`There is no file ${escapeForTerminal(file)}.`);
    throw error;
  }
  return Buffer.concat(chunks);
}

/** The result of importing a file of captures. */
interface ImportedCaptures extends CaptureResult {
  file: string;
  ok: boolean;
  kind: 'captures';
  observer: string;
  sentence: string;
}

/** How files begin that the import of captures reads, or of which it says what they are: WARC, gzip, ARC and Zstandard. */
const CAPTURE_FILES = ['WARC/', '\x1f\x8b', 'filedesc', '\x28\xb5\x2f\xfd', '\x5d\x2a\x4d\x18'];

function isCaptureFile(beginning: Buffer): boolean {
  return CAPTURE_FILES.some((begin) => beginning.toString('latin1').startsWith(begin));
}

/** Returns whether a ZIP is a WACZ package. A pack file has a folder around its files. @throws Problem */
function isPackage(file: string): Promise<boolean> {
  return hasMember(file, (name) => name === 'datapackage.json');
}

/** @throws UsageError if the name is not a valid observer name */
export function requireObserver(name: string): string {
  const checked = observerSchema.safeParse(name);
  if (checked.success) return checked.data;
  throw new UsageError(`--observer: ${checked.error.issues[0]?.message ?? 'This is not a valid name.'}`);
}

/**
 * Imports a WARC file or a WACZ package. If the file is damaged, the captures before the damage are imported and `refused`
 * reports it.
 *
 * @param requested the observer's name; undefined to take it from the file
 * @throws Problem, RefusedByNodeError `invalid_capture`
 */
async function importCaptures(
  node: NodeClient,
  file: string,
  requested: string | undefined,
): Promise<ImportedCaptures> {
  const observer = requested ?? observerOf(await describeCaptureFile(file, MAX_CAPTURE_FILE_BYTES), file);
  const query = { wait: false, observer };
  const chunks = createReadStream(file);
  const { json: job } = await node.send('importCaptures', { query, type: 'application/warc', chunks });
  const result = (await node.finished(job)) as CaptureResult;
  const ok = !result.refused.some(({ reason }) => reason === 'damaged' || reason === 'file_too_large');
  return { file, ok, kind: 'captures', observer, sentence: summaryOf(result, observer), ...result };
}

/** The fields of a file's description that name its observer, in order of preference. */
const NAMING_FIELDS = ['publisher', 'operator', 'ispartof'] as const;

function observerOf({ info }: FileDescription, file: string): string {
  const fromName = basename(file).replace(/\.(warc(\.gz)?|wacz)$/i, '');
  const names = [...NAMING_FIELDS.map((field) => info.get(field) ?? ''), fromName];
  return names.find((name) => observerSchema.safeParse(name).success) ?? 'captures';
}

function summaryOf(result: CaptureResult, observer: string): string {
  const { captures, already_held, events, refused } = result;
  const parts = [`${countOf(captures, 'capture')} of ${observer}, ${countOf(events.length, 'event')}`];
  if (already_held > 0) parts.push(`${already_held} were already in the archive`);
  if (refused.length > 0)
    parts.push(`refused: ${refused.map(({ reason, count }) => `${count} ${reason}`).join(', ')}`);
  return `${parts.join('; ')}.`;
}
