import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { parseArgs } from 'node:util';
import { systemClock } from '../../../shared/values/clock.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { openArchiveForWriting } from '../../collection/record/coverRetrievals.ts';
import { ExportError, exportArchive, saveWhole } from '../../dump/exportArchive.ts';
import { FolderInUseError } from '../../store/opening/folderLock.ts';
import {
  type Command,
  type ExitCode,
  NODE_OPTIONS,
  optionsHelp,
  print,
  printError,
  UsageError,
} from '../command.ts';
import { archiveFolder } from '../dataFolder.ts';
import { connectToNode, type NodeOptions, RefusedByNodeError } from '../runningNode.ts';

const OPTIONS = {
  ...NODE_OPTIONS,
  out: {
    type: 'string',
    default: 'strongroom-archive.zip',
    value: 'FILE',
    help: 'the file to write (default: strongroom-archive.zip)',
  },
} as const;

const HELP = `Usage: strongroom export [options]

Writes the entire archive (its dump and all blobs) as one BagIt bag in a ZIP file. “strongroom import” restores an equal
archive from it. Every blob is re-hashed. If a node has the data folder open, that node exports: the file holds the
archive as it was when the export started.

${optionsHelp(OPTIONS)}

Exit code: 0 if the file was written, 1 if a blob is missing or damaged (then no file is written), 2 if the export could
not be done.`;

export const exportFile: Command = {
  name: 'export',
  summary: 'write the entire archive (dump and blobs) to one file',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values } = parseArgs({ args, options: OPTIONS });
    const folder = archiveFolder(values.data);
    const file = resolve(values.out);
    if (existsSync(file)) throw new UsageError(`${file} already exists; choose another name with --out.`);
    try {
      const written = await exportHereOrByNode({ ...values, data: folder }, file);
      if (values.json) print(JSON.stringify({ ok: true, file, ...written }));
      else print(`${file} was written: the dump and ${written.blobs} blobs of ${written.bytes} bytes.`);
      return 0;
    } catch (error) {
      if (!(error instanceof ExportError)) throw error;
      if (values.json) print(JSON.stringify({ ok: false, sentence: error.message }));
      else printError(error.message);
      return 1;
    }
  },
};

interface Written {
  blobs: number;
  bytes: number;
}

/** Exports in this process, or through the node that has the folder open. */
async function exportHereOrByNode(options: NodeOptions, file: string): Promise<Written> {
  try {
    return await exportHere(options.data, file);
  } catch (error) {
    if (!(error instanceof FolderInUseError)) throw error;
    return exportByNode(options, file);
  }
}

async function exportHere(folder: string, file: string): Promise<Written> {
  const { store, checkpoints } = await openArchiveForWriting({ folder, clock: systemClock });
  try {
    // Loaded here, so that the list of commands does not wait for it.
    const { CopyReader } = await import('../../copies/offload/copyReader.ts');
    const archive = { folder, clock: systemClock, checkpoints };
    return await exportArchive(archive, file, (opened) => new CopyReader(opened));
  } finally {
    await store.close();
  }
}

async function exportByNode(options: NodeOptions, file: string): Promise<Written> {
  const node = await connectToNode(options);
  const { headers, body } = await node.download('/manage/archive.zip');
  const [, blobs, bytes] = /^blobs=(\d+), bytes=(\d+)$/.exec(headers.get('Strongroom-Export') ?? '') ?? [];
  if (!body || blobs === undefined) throw new RefusedByNodeError('The node sent no archive.', undefined);
  const received = Readable.fromWeb(body as ReadableStream<Uint8Array>);
  let isBroken = false;
  received.once('error', () => {
    isBroken = true;
  });
  try {
    await saveWhole(received, file);
  } catch (error) {
    if (!isBroken || errorCode(error) !== undefined) throw error;
    throw new ExportError(
      'The node stopped the export: a blob is missing or damaged, or in a copy that cannot be read, or the node was closed. Nothing was written. Run “strongroom audit”.',
    );
  }
  return { blobs: Number(blobs), bytes: Number(bytes) };
}
