import { createReadStream } from 'node:fs';
import { extname } from 'node:path';
import { parseArgs } from 'node:util';
import { type ListFormat, MAX_LIST_BYTES, type SourceImport } from '../../shared/sourceList.ts';
import { isMissing } from '../store/blobs/blobStore.ts';
import { openCollector } from './collector.ts';
import {
  type Command,
  DATA_OPTION,
  type ExitCode,
  JSON_OPTION,
  print,
  printError,
  UsageError,
} from './command.ts';
import { shown } from './shown.ts';

const HELP = `Usage: strongroom watch URL… [options]
       strongroom watch --list FILE [options]

Adds sources to a data folder; where a node has it open, through that node. What is watched already stays as it is.

  --list FILE      a list: text with an address a line (# begins a comment), CSV with a header (.csv) that has url and,
                   if you like, name, agency, tags, every_minutes, max_object_mb, ignore_robots, or OPML (.opml, .xml)
  --data DIR       the data folder (default: ./strongroom-data)
  --url URL        where the node that has it open listens, where its data folder does not tell
  --token-file F   the owner's token, where it is kept elsewhere
  --json           one JSON object instead of sentences

Ends with 0 if all are watched now, 1 if any was refused, 2 if it could not be done.`;

const FORMS: Readonly<Record<string, ListFormat>> = { '.csv': 'csv', '.opml': 'opml', '.xml': 'opml' };

export const watch: Command = {
  name: 'watch',
  summary: 'add sources, by address or from a list',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        list: { type: 'string' },
        data: DATA_OPTION,
        url: { type: 'string' },
        'token-file': { type: 'string' },
        json: JSON_OPTION,
      },
    });
    if (positionals.length > 0 === (values.list !== undefined))
      throw new UsageError('Name the addresses, or one list with --list.');
    const { form, bytes } = values.list === undefined ? asList(positionals) : await readList(values.list);
    const collector = await openCollector(values);
    try {
      const imported = await collector.importSources(form, bytes);
      if (values.json) print(JSON.stringify(imported));
      else tell(imported);
      return imported.refused > 0 ? 1 : 0;
    } finally {
      await collector.close();
    }
  },
};

interface GivenList {
  form: ListFormat;
  bytes: Uint8Array<ArrayBuffer>;
}

function asList(urls: readonly string[]): GivenList {
  return { form: 'text', bytes: new TextEncoder().encode(urls.join('\n')) };
}

async function readList(file: string): Promise<GivenList> {
  try {
    return { form: FORMS[extname(file).toLowerCase()] ?? 'text', bytes: await readBounded(file) };
  } catch (error) {
    if (isMissing(error)) throw new UsageError(`There is no file ${shown(file)}.`);
    throw error;
  }
}

/** No more is read than may be in a list, however large the file is. */
async function readBounded(file: string): Promise<Uint8Array<ArrayBuffer>> {
  const held: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    held.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_LIST_BYTES)
      throw new UsageError(
        `${shown(file)} has more than ${MAX_LIST_BYTES} bytes, which is as many as are taken at once. Give it in parts.`,
      );
  }
  return Buffer.concat(held, bytes);
}

function tell({ items, ignored_columns }: SourceImport): void {
  for (const { url, outcome, source, detail } of items) {
    if (outcome === 'refused') printError(`${shown(url)} was refused: ${shown(detail ?? '')}`);
    else if (outcome === 'added') print(`${shown(url)} is watched as ${source}.`);
    else print(`${shown(url)} is watched already, as ${source}.`);
  }
  if (ignored_columns.length > 0)
    printError(`These columns mean nothing here: ${shown(ignored_columns.join(', '))}.`);
}
