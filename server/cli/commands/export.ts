import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { MAX_LIST_LIMIT } from '../../../shared/limits.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { ExportError, saveWhole } from '../../dump/exportArchive.ts';
import {
  type Command,
  type ExitCode,
  NODE_OPTIONS,
  optionsHelp,
  print,
  printError,
  printJson,
  UsageError,
} from '../command.ts';
import { type NodeClient, RefusedByNodeError } from '../node/nodeClient.ts';
import { withArchive } from '../node/withNode.ts';

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
  async run(args, config): Promise<ExitCode> {
    const { values } = parseArgs({ args, options: OPTIONS });
    const file = resolve(values.out);
    if (existsSync(file)) throw new UsageError(`${file} already exists; choose another name with --out.`);
    try {
      const written = await withArchive(values, config, (node) => saveExport(node, file));
      if (values.json) printJson({ ok: true, file, ...written });
      else print(`${file} was written: the dump and ${written.blobs} blobs of ${written.bytes} bytes.`);
      return 0;
    } catch (error) {
      if (!isBlobMissing(error)) throw error;
      if (values.json) printJson({ ok: false, sentence: error.message });
      else printError(error.message);
      return 1;
    }
  },
};

/** Whether bytes of the archive are missing, damaged, or in a copy that cannot be read. */
function isBlobMissing(error: unknown): error is Error {
  return (
    error instanceof ExportError || (error instanceof RefusedByNodeError && error.code === 'copy_unreachable')
  );
}

interface Written {
  blobs: number;
  bytes: number;
}

/** The errors of an answer that ends before it is whole. */
const BROKEN_OFF: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE']);

const STOPPED = 'The node stopped the export';

/** Says why an export broke off: the node records a blob that it finds missing or damaged. */
async function whyBroken(node: NodeClient): Promise<string> {
  const damages = await node.call('listDamages', { query: { limit: MAX_LIST_LIMIT } }).catch(() => undefined);
  const damaged = damages?.items.find(({ restored_entry }) => restored_entry === null);
  return damaged
    ? `${STOPPED}: the blob ${damaged.sha256} is missing or damaged. Nothing was written. Run “strongroom audit”.`
    : `${STOPPED}: a blob is in a copy that cannot be read, or the node was closed. Nothing was written. Run “strongroom audit”.`;
}

/** Saves the archive that the node sends. @throws ExportError */
async function saveExport(node: NodeClient, file: string): Promise<Written> {
  const received = await node.download('readArchive');
  const counts = String(received.headers['strongroom-export'] ?? '');
  const [, blobs, bytes] = /^blobs=(\d+), bytes=(\d+)$/.exec(counts) ?? [];
  if (blobs === undefined) throw new RefusedByNodeError('The node sent no archive.', undefined);
  try {
    await saveWhole(received, file);
  } catch (error) {
    // An error of the file that is written ends what is received, too.
    if (!BROKEN_OFF.has(errorCode(error))) throw error;
    throw new ExportError(await whyBroken(node));
  }
  return { blobs: Number(blobs), bytes: Number(bytes) };
}
