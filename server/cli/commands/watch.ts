import { createReadStream } from 'node:fs';
import { extname } from 'node:path';
import { parseArgs } from 'node:util';
import { type ListFormat, MAX_LIST_BYTES, type SourceImport } from '../../../shared/collection/sourceList.ts';
import { isMissing } from '../../store/blobs/blobStore.ts';
import { type Command, type ExitCode, print, printError, UsageError } from '../command.ts';
import { escapeForTerminal } from '../escapeForTerminal.ts';
import { NODE_OPTIONS, optionsHelp } from '../options.ts';
import { openCollector } from './collector.ts';

const OPTIONS = {
  list: { type: 'string', value: 'FILE', help: 'add the sources of a list' },
  ...NODE_OPTIONS,
} as const;

const HELP = `Usage: strongroom watch URL… [options]
       strongroom watch --list FILE [options]

Adds sources to a data folder. If a node has the folder open, that node adds them. A source that is already watched is
not changed.

${optionsHelp(OPTIONS)}

A list is one of
  text                one URL per line; # begins a comment
  CSV (.csv)          with a header; the column url is required, the columns name, agency, tags, every_minutes,
                      max_object_mb and ignore_robots are optional
  OPML (.opml, .xml)

Exit code: 0 if all sources are watched now, 1 if any was refused, 2 if they could not be added.`;

const FORMS: Readonly<Record<string, ListFormat>> = { '.csv': 'csv', '.opml': 'opml', '.xml': 'opml' };

export const watch: Command = {
  name: 'watch',
  summary: 'add sources by URL or from a list',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    if (positionals.length > 0 === (values.list !== undefined))
      throw new UsageError('Name the URLs of the sources, or one list with --list.');
    const { form, bytes } = values.list === undefined ? asList(positionals) : await readList(values.list);
    const collector = await openCollector(values);
    try {
      const imported = await collector.importSources(form, bytes);
      if (values.json) print(JSON.stringify(imported));
      else printResult(imported);
      return imported.refused > 0 ? 1 : 0;
    } finally {
      await collector.close();
    }
  },
};

interface SourceList {
  form: ListFormat;
  bytes: Uint8Array<ArrayBuffer>;
}

function asList(urls: readonly string[]): SourceList {
  return { form: 'text', bytes: new TextEncoder().encode(urls.join('\n')) };
}

async function readList(file: string): Promise<SourceList> {
  try {
    return { form: FORMS[extname(file).toLowerCase()] ?? 'text', bytes: await readBounded(file) };
  } catch (error) {
    if (isMissing(error)) throw new UsageError(`There is no file ${escapeForTerminal(file)}.`);
    throw error;
  }
}

/** Reads a file and stops with an error as soon as it exceeds the size limit of a list. */
async function readBounded(file: string): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_LIST_BYTES)
      throw new UsageError(
        `${escapeForTerminal(file)} has more than ${MAX_LIST_BYTES} bytes, the limit for one list. Split it.`,
      );
  }
  return Buffer.concat(chunks, bytes);
}

function printResult({ items, ignored_columns }: SourceImport): void {
  for (const { url, outcome, source, detail } of items) {
    if (outcome === 'refused')
      printError(`${escapeForTerminal(url)} was refused: ${escapeForTerminal(detail ?? '')}`);
    else if (outcome === 'added') print(`${escapeForTerminal(url)} is watched as ${source}.`);
    else print(`${escapeForTerminal(url)} is already watched as ${source}.`);
  }
  if (ignored_columns.length > 0)
    printError(`These columns were ignored: ${escapeForTerminal(ignored_columns.join(', '))}.`);
}
