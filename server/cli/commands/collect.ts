import { createReadStream } from 'node:fs';
import { extname } from 'node:path';
import { parseArgs } from 'node:util';
import type { CollectionResult } from '../../../shared/collection/collection.ts';
import type { EventType } from '../../../shared/collection/event.ts';
import { failureWords } from '../../../shared/collection/retrievalWords.ts';
import {
  LIST_MEDIA_TYPES,
  type ListFormat,
  MAX_LIST_BYTES,
  type SourceImport,
  type WatchedSource,
} from '../../../shared/collection/source.ts';
import { MAX_LIST_LIMIT } from '../../../shared/limits.ts';
import { isMissing } from '../../store/blobs/blobStore.ts';
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
import type { NodeClient } from '../node/nodeClient.ts';
import { withArchive, withNode } from '../node/withNode.ts';

const OPTIONS = {
  list: { type: 'string', value: 'FILE', help: 'add the sources of a list' },
  page: {
    type: 'boolean',
    default: false,
    help: 'capture the pages as a person sees them, drawn by a browser',
  },
  ...NODE_OPTIONS,
} as const;

const HELP = `Usage: strongroom watch URL… [options]
       strongroom watch --list FILE [options]

Adds sources to a data folder. If a node has the folder open, that node adds them. A source that is already watched is
not changed.

${optionsHelp(OPTIONS)}

A list is one of
  text                one URL per line; # begins a comment
  CSV (.csv, .tsv)    with a header; the column url is required, the columns name, agency, tags, every_minutes,
                      max_object_mb, ignore_robots and capture (object or page) are optional
  OPML (.opml, .xml)
  bookmarks (.html)   as browsers export them; folders become tags

Exit code: 0 if all sources are watched now, 1 if any was refused, 2 if they could not be added.`;

const FORMS: Readonly<Record<string, ListFormat>> = {
  '.csv': 'csv',
  '.tsv': 'csv',
  '.opml': 'opml',
  '.xml': 'opml',
  '.html': 'bookmarks',
  '.htm': 'bookmarks',
};

export const watch: Command = {
  name: 'watch',
  summary: 'add sources by URL or from a list',
  help: HELP,
  async run(args, config): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    if (positionals.length > 0 === (values.list !== undefined))
      throw new UsageError('Name the URLs of the sources, or one list with --list.');
    const { form, bytes } = values.list === undefined ? asList(positionals) : await readList(values.list);
    const capture = values.page ? 'page' : 'object';
    const type = Object.entries(LIST_MEDIA_TYPES).find(([, each]) => each === form)?.[0] ?? '';
    const { json: imported } = await withNode(values, config, (node) =>
      node.send('importSources', { query: { capture }, type, chunks: [bytes] }),
    );
    if (values.json) printJson(imported);
    else printResult(imported);
    return imported.refused > 0 ? 1 : 0;
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

const CHECK_HELP = `Usage: strongroom check [options]

Checks every source that is not paused and prints the result of each: seen for the first time, changed, recovered,
unchanged, or failed with the reason. If a node has the data folder open, that node checks the sources.

${optionsHelp(NODE_OPTIONS)}

Exit code: 0 if every check succeeded, 1 if any failed, 2 if the sources could not be checked.`;

/** The result of one check of a source. */
interface Finding {
  id: string;
  url: string;
  outcome: 'first_seen' | 'changed' | 'unchanged' | 'failed';
  /** The events of this check, oldest first; they include `recovered`, `unavailable` and `disappeared`. */
  events: EventType[];
  error: string | null;
  status: number | null;
}

export const check: Command = {
  name: 'check',
  summary: 'check all sources now and print the results',
  help: CHECK_HELP,
  async run(args, config): Promise<ExitCode> {
    const { values } = parseArgs({ args, options: NODE_OPTIONS });
    const { result, findings } = await withArchive(values, config, checkAll);
    if (values.json) printJson({ ...result, sources: findings });
    else printFindings(result, findings);
    return result.failed > 0 || result.observer_offline ? 1 : 0;
  },
};

async function checkAll(node: NodeClient): Promise<{ result: CollectionResult; findings: Finding[] }> {
  const before = new Map(
    (await watchedSources(node)).map(({ id, last_checked_at }) => [id, last_checked_at]),
  );
  const result = (await node.finished(await node.call('collect'))) as CollectionResult;
  const events = new Map<string, EventType[]>();
  for (const id of result.events) {
    const { source, event_type } = await node.call('readEvent', { params: { id } });
    events.set(source.id, [...(events.get(source.id) ?? []), event_type]);
  }
  const checked = (await watchedSources(node)).filter(
    ({ id, last_checked_at }) => last_checked_at !== (before.get(id) ?? null),
  );
  return {
    result,
    findings: checked.reverse().map((source) => findingOf(source, events.get(source.id) ?? [])),
  };
}

function findingOf(source: WatchedSource, events: EventType[]): Finding {
  const { id, url, last_error: error, last_status: status } = source;
  const version = events.find((type) => type === 'first_seen' || type === 'changed');
  const outcome = error === null ? ((version as Finding['outcome'] | undefined) ?? 'unchanged') : 'failed';
  return { id, url, outcome, events, error, status };
}

const OUTCOME_WIDTH = 'first seen'.length;

function printFindings(result: CollectionResult, findings: readonly Finding[]): void {
  for (const { outcome, url, events, error, status } of findings) {
    const also = events.filter((type) => type !== outcome).map((type) => `, ${type.replace('_', ' ')}`);
    const reason = error === null ? '' : `: ${failureWords(error, status)}`;
    const label = outcome.replace('_', ' ').padEnd(OUTCOME_WIDTH);
    print(`${label}  ${escapeForTerminal(url)}${also.join('')}${reason}`);
  }
  if (result.observer_offline)
    printError('No host could be reached: this machine seems to have no network connection.');
  print(
    `${result.checked} checked: ${result.changed} new or changed, ${result.unchanged} unchanged, ${result.failed} failed.`,
  );
}

/** Every watched source. */
function watchedSources(node: NodeClient): Promise<WatchedSource[]> {
  return allPages(async (page) => (await node.call('listWatchedSources', { query: page })).items);
}

async function allPages<Item>(
  read: (page: { limit: number; offset: number }) => Promise<Item[]>,
): Promise<Item[]> {
  const all: Item[] = [];
  for (;;) {
    const page = await read({ limit: MAX_LIST_LIMIT, offset: all.length });
    all.push(...page);
    if (page.length < MAX_LIST_LIMIT) return all;
  }
}
