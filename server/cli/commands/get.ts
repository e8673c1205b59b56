import { parseArgs } from 'node:util';
import {
  type ImportRequest,
  importRequestSchema,
  type PlannedImport,
  type RecordImport,
} from '../../../shared/archive/recordImport.ts';
import { writtenDoi } from '../../../shared/values/doi.ts';
import type { NodeConfig } from '../../config.ts';
import {
  type Command,
  type ExitCode,
  escapeForTerminal,
  NODE_AT_OPTIONS,
  optionsHelp,
  print,
  printJson,
  requireOne,
  UsageError,
} from '../command.ts';
import { type NodeOptions, withNode } from '../node/withNode.ts';

const OPTIONS = {
  'dry-run': { type: 'boolean', default: false, help: 'list what would come, and fetch no files' },
  ...NODE_AT_OPTIONS,
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
    const result = await getRecord(
      request,
      isDryRun,
      { ...values, url: values.node, addressOption: '--node' },
      config,
    );
    if (values.json) printJson(result);
    else printResult(result);
    return result.files.every(({ state }) => state === 'held' || state === 'planned') ? 0 : 1;
  },
};

function requestOf(named: string): ImportRequest {
  const doi = writtenDoi(named);
  const { success, data } = importRequestSchema.safeParse(doi === undefined ? { url: named } : { doi });
  if (!success)
    throw new UsageError(`${escapeForTerminal(named)} is neither a DOI nor an absolute http or https URL.`);
  return data;
}

function getRecord(
  body: ImportRequest,
  isDryRun: boolean,
  options: NodeOptions,
  config: Partial<NodeConfig>,
): Promise<RecordImport | PlannedImport> {
  return withNode(options, config, async (node) => {
    const answer = await node.call('importRecord', { query: { dry_run: isDryRun }, body });
    return (isDryRun ? answer : await node.finished(answer)) as RecordImport | PlannedImport;
  });
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
