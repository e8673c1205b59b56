import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  doiOf,
  type ImportRequest,
  importRequestSchema,
  type PlannedImport,
  type RecordImport,
} from '../../../shared/archive/recordImport.ts';
import type { Job } from '../../../shared/node/job.ts';
import { Drafts } from '../../archive/drafts/drafts.ts';
import type { NodeConfig } from '../../config.ts';
import { Imports } from '../../repositories/imports.ts';
import { createLog } from '../../runtime/log.ts';
import { FolderInUseError } from '../../store/opening/folderLock.ts';
import { openSettings } from '../../store/settings.ts';
import { openCollectionHere } from '../collectionHere.ts';
import {
  type Command,
  type ExitCode,
  NODE_OPTIONS,
  optionsHelp,
  print,
  requireOne,
  UsageError,
} from '../options.ts';
import { connectToNode, finishedJob, type NodeOptions } from '../runningNode.ts';
import { escapeForTerminal } from '../terminal.ts';

const OPTIONS = {
  'dry-run': { type: 'boolean', default: false, help: 'list what would come, and fetch no files' },
  data: NODE_OPTIONS.data,
  node: {
    type: 'string',
    value: 'URL',
    help: 'the address of the running node (default: the one that it writes into its data folder)',
  },
  'token-file': NODE_OPTIONS['token-file'],
  json: NODE_OPTIONS.json,
} as const;

const HELP = `Usage: strongroom get DOI|URL [options]

Makes a draft of a record: of InvenioRDM or Zenodo, Dataverse, OSF, figshare or Dryad, or of a page with Signposting or
schema.org JSON-LD. Each file is compared with the checksum that the repository states. Every request is archived. An
import that was stopped continues in its draft when the same record is imported again. If a node has the data folder
open, that node imports the record.

${optionsHelp(OPTIONS)}

Exit code: 0 if every file is in the draft, 1 if some are not, 2 if the record could not be imported.`;

export const get: Command = {
  name: 'get',
  summary: 'make a draft of a record of a repository, by its DOI or address',
  help: HELP,
  async run(args, config): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    const named = requireOne(positionals, 'Name one DOI or one address.');
    const request = requestOf(named);
    const isDryRun = values['dry-run'];
    const result = await getRecord(request, isDryRun, { ...values, url: values.node }, config);
    if (values.json) print(JSON.stringify(result));
    else printResult(result);
    return result.files.every(({ state }) => state === 'held' || state === 'planned') ? 0 : 1;
  },
};

function requestOf(named: string): ImportRequest {
  const doi = doiOf(named);
  const { success, data } = importRequestSchema.safeParse(doi === undefined ? { url: named } : { doi });
  if (!success)
    throw new UsageError(`${escapeForTerminal(named)} is neither a DOI nor an absolute http or https URL.`);
  return data;
}

/** Imports in this process, or by the node that has the data folder open. */
async function getRecord(
  request: ImportRequest,
  isDryRun: boolean,
  options: NodeOptions,
  config: Partial<NodeConfig>,
): Promise<RecordImport | PlannedImport> {
  try {
    return await inProcess(resolve(options.data), request, isDryRun, config);
  } catch (error) {
    if (!(error instanceof FolderInUseError)) throw error;
    const node = await connectToNode(options);
    const body = { type: 'application/json', bytes: new TextEncoder().encode(JSON.stringify(request)) };
    const answer = await node.request('POST', `/manage/import?dry_run=${isDryRun}`, body);
    return isDryRun ? (answer as PlannedImport) : ((await finishedJob(node, answer as Job)) as RecordImport);
  }
}

async function inProcess(
  folder: string,
  request: ImportRequest,
  isDryRun: boolean,
  config: Partial<NodeConfig>,
): Promise<RecordImport | PlannedImport> {
  const here = await openCollectionHere(folder, config);
  try {
    const { store, jobs, collection } = here;
    const settings = openSettings(store);
    const imports = new Imports({
      store,
      drafts: new Drafts({ store, settings, jobs, log: createLog('silent') }),
      requests: collection.requests,
      jobs,
      settings: () => settings.current,
    });
    return isDryRun ? await imports.plan(request) : await imports.start(request).finished;
  } finally {
    await here.close();
  }
}

function printResult({ draft, title, doi, url, files, warnings }: RecordImport | PlannedImport): void {
  print(escapeForTerminal(title));
  print(`${doi === null ? '' : `${escapeForTerminal(doi)}  `}${escapeForTerminal(url)}`);
  for (const { path, bytes, checksum, state } of files)
    print(
      `${state.padEnd(9)}  ${String(bytes ?? '?').padStart(12)}  ${escapeForTerminal(path)}${checksum === null ? '' : `  ${checksum}`}`,
    );
  for (const warning of warnings) print(`Note: ${escapeForTerminal(warning)}`);
  if (draft !== null) print(`The draft is ${draft}.`);
}
