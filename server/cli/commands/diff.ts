import { stat } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { FileDiff, Hunk, JsonChange, TableParts, TableRow } from '../../../shared/collection/diff.ts';
import { diffSummary } from '../../../shared/collection/diffSummary.ts';
import { isDigest, pageIdSchema } from '../../../shared/values/digest.ts';
import { Deriver } from '../../collection/derived/process/deriver.ts';
import { compareLocalFiles } from '../../collection/diff/localFiles.ts';
import type { NodeConfig } from '../../config.ts';
import { createLog } from '../../runtime/log.ts';
import {
  type Command,
  type ExitCode,
  escapeForTerminal,
  NODE_OPTIONS,
  optionsHelp,
  print,
  printJson,
  UsageError,
} from '../command.ts';
import type { NodeClient } from '../node/nodeClient.ts';
import { type NodeOptions, withArchive } from '../node/withNode.ts';

const HELP = `Usage: strongroom diff A B [options]

Prints what changed from one version to another, as the interface shows it: texts word by word, with [-removed-] and
{+added+}, tables by their rows, JSON by its values. A and B are digests, events (their version) or page captures (their
text). If a node has the data folder open, that node compares them. A and B can also be two files on this computer, which
need no archive.

${optionsHelp(NODE_OPTIONS)}

Exit code: 0 if the bytes of the two are the same, 1 if they differ, 2 if they could not be compared.`;

export const diff: Command = {
  name: 'diff',
  summary: 'print what changed from one version to another',
  help: HELP,
  async run(args, config): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: NODE_OPTIONS });
    const [from, to, ...others] = positionals;
    if (from === undefined || to === undefined || others.length > 0)
      throw new UsageError('Name two versions: digests, events or page captures; or two files.');
    const [isFromFile, isToFile] = [await isFile(from), await isFile(to)];
    if (isFromFile !== isToFile)
      throw new UsageError(
        `${escapeForTerminal(isFromFile ? to : from)} is not a file. Compare two files, or two versions in the archive.`,
      );
    const found = isFromFile
      ? await compareFiles(from, to)
      : await compareVersions([from, to], values, config);
    if (values.json) printJson(found);
    else for (const line of linesOf(found)) print(escapeForTerminal(line));
    return found.from.sha256 === found.to.sha256 ? 0 : 1;
  },
};

/** Whether a file is named. What can be a digest, an event or a page capture is none; `./12` is. */
async function isFile(named: string): Promise<boolean> {
  if (isDigest(named) || pageIdSchema.safeParse(named).success || EVENT.test(named)) return false;
  const found = await stat(named).catch(() => undefined);
  return found?.isFile() ?? false;
}

async function compareFiles(from: string, to: string): Promise<FileDiff> {
  const deriver = new Deriver(createLog('silent'));
  try {
    return await compareLocalFiles(deriver, [from, to]);
  } finally {
    await deriver.close();
  }
}

function compareVersions(
  [from, to]: readonly [string, string],
  options: NodeOptions,
  config: Partial<NodeConfig>,
): Promise<FileDiff> {
  return withArchive(options, config, async (node) => {
    const query = { from: await digestOf(node, from), to: await digestOf(node, to) };
    return node.call('compareObjects', { query });
  });
}

/** The number of an event. */
const EVENT = /^[1-9]\d{0,14}$/;

/** Returns the digest of the version that was named. */
async function digestOf(node: NodeClient, named: string): Promise<string> {
  if (isDigest(named)) return named;
  if (pageIdSchema.safeParse(named).success)
    return (await node.call('readPage', { params: { id: named } })).text;
  if (!EVENT.test(named))
    throw new UsageError(`${escapeForTerminal(named)} is not a digest, an event, a page capture or a file.`);
  const { sha256 } = await node.call('readEvent', { params: { id: named } });
  if (sha256 === null) throw new UsageError(`Event ${named} has no version: nothing was retrieved.`);
  return sha256;
}

function linesOf(found: FileDiff): string[] {
  if (found.from.sha256 === found.to.sha256) return ['The bytes are the same.'];
  const said = [diffSummary(found), found.reason, found.truncated && 'The list of differences is truncated.'];
  const lines = said.filter((line) => typeof line === 'string');
  return [...(lines.length > 0 ? lines : ['No differences in the compared content.']), ...changesOf(found)];
}

function changesOf(found: FileDiff): string[] {
  switch (found.kind) {
    case 'json':
      return found.changes.map(jsonLine);
    case 'csv':
      return tableLines(found);
    case 'image':
      return [];
    case 'bytes':
      return found.around
        ? [`- ${found.around.from}`, `+ ${found.around.to}`, `(hex, from byte ${found.around.offset})`]
        : [];
    default:
      return found.hunks.flatMap(hunkLines);
  }
}

function hunkLines({ from_line, to_line, page, parts }: Hunk): string[] {
  const marked = parts.map(({ op, text }) =>
    op === 'same' ? text : op === 'added' ? `{+${text}+}` : `[-${text}-]`,
  );
  const place = page === null ? '' : ` page ${page}`;
  return ['', `@@ -${from_line} +${to_line} @@${place}`, ...marked.join('').trimEnd().split('\n')];
}

const SIGNS = { added: '+', removed: '-', changed: '~', moved: '>' } as const;

function jsonLine({ op, pointer, from_pointer, before, after }: JsonChange): string {
  const where = from_pointer === null ? pointer || '(root)' : `${from_pointer} → ${pointer}`;
  const valueOf = (value: typeof before) => value && `${value.json}${value.cut ? '…' : ''}`;
  const values = [...new Set([valueOf(before), valueOf(after)])].filter((value) => value !== null);
  return `${SIGNS[op]} ${where}: ${values.join(' → ')}`;
}

function tableLines({ rows }: TableParts): string[] {
  return rows.map(rowLine);
}

function rowLine({ op, from_row, to_row, key, cells }: TableRow): string {
  const name = key === null ? `row ${to_row ?? from_row}` : `row ${to_row ?? from_row} (${key})`;
  const changes = cells.map(({ column, before, after }) =>
    op === 'changed' ? `${column}: ${before ?? ''} → ${after ?? ''}` : `${column}: ${after ?? before ?? ''}`,
  );
  return `${SIGNS[op]} ${name} ${changes.join(', ')}`;
}
