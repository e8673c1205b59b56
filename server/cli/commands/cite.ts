import { parseArgs } from 'node:util';
import {
  CITATION_FORMATS,
  type CitationFormat,
  WEB_FORMATS,
  type WebFormat,
} from '../../../shared/archive/citation.ts';
import { viewQuery } from '../../../shared/collection/view.ts';
import {
  type Command,
  type ExitCode,
  escapeForTerminal,
  NODE_OPTIONS,
  optionsHelp,
  print,
  printJson,
  requireOne,
  UsageError,
} from '../command.ts';
import { readText } from '../node/nodeClient.ts';
import { withArchive } from '../node/withNode.ts';

const FORMATS = Object.keys({ ...CITATION_FORMATS, ...WEB_FORMATS }) as (CitationFormat | WebFormat)[];

const OPTIONS = {
  format: { type: 'string', value: 'FORMAT', help: `one of ${FORMATS.join(', ')} (default: apa)` },
  source: {
    type: 'string',
    value: 'ID',
    help: 'with a digest: cite the object as this source brought it (default: its first retrieval)',
  },
  at: { type: 'string', value: 'TIME', help: 'with a digest and --source: the time of the capture' },
  ...NODE_OPTIONS,
} as const;

const HELP = `Usage: strongroom cite ID [--format FORMAT] [options]

Prints the citation of a pack, a study, an event, a page capture or a finding by its id, or of an object by its digest. If
a node has the data folder open, that node is asked.

${optionsHelp(OPTIONS)}

Exit code: 0 if the citation was printed, 2 if not.`;

export const cite: Command = {
  name: 'cite',
  summary: 'print the citation of a pack, an event, an object or a finding',
  help: HELP,
  async run(args, config): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    const id = requireOne(positionals, 'Name one item by its id or its digest.');
    const format = formatOf(values.format);
    const { source, at } = values;
    const query = viewQuery.safeParse({ ...(source && { source }), ...(at && { at }) });
    if (!query.success)
      throw new UsageError('--source is the id of a source, --at a time such as 2026-11-20T10:14:21.000Z.');
    if (values.json) {
      const citation = await withArchive(values, config, (node) =>
        node.call('readCitation', { params: { id }, query: query.data }),
      );
      printJson(citation);
      return 0;
    }
    const text = await withArchive(values, config, async (node) =>
      readText(await node.download('readCitation', { params: { id }, query: { ...query.data, format } })),
    );
    printCitation(text);
    return 0;
  },
};

/** A file gets the text as it is. */
function printCitation(text: string): void {
  if (!process.stdout.isTTY) process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
  else for (const line of text.trimEnd().split(/\r?\n/)) print(escapeForTerminal(line));
}

function formatOf(given = 'apa'): CitationFormat | WebFormat {
  const format = FORMATS.find((each) => each === given);
  if (format === undefined) throw new UsageError(`The formats are ${FORMATS.join(', ')}.`);
  return format;
}
