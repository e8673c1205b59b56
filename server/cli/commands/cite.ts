import { parseArgs } from 'node:util';
import {
  CITATION_FORMATS,
  type Citation,
  type CitationFormat,
  WEB_FORMATS,
  type WebFormat,
} from '../../../shared/archive/citation.ts';
import { viewQuery } from '../../../shared/collection/view.ts';
import { type CitingContext, citeAs, cite as citeWork } from '../../citations/citations.ts';
import type { ObservationServices } from '../../citations/observations.ts';
import { Texts } from '../../collection/derived/derived.ts';
import { openSettings } from '../../store/settings.ts';
import { OWNER } from '../../withholding/withholding.ts';
import { type CollectionHere, readArchive } from '../collectionHere.ts';
import {
  type Command,
  type ExitCode,
  escapeForTerminal,
  NODE_OPTIONS,
  optionsHelp,
  print,
  requireOne,
  UsageError,
} from '../command.ts';
import { DEFAULT_URL } from '../runningNode.ts';

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
    const asked = { id, query: query.data, reader: OWNER };
    const path = (more: object) =>
      `/api/items/${encodeURIComponent(id)}/cite?${new URLSearchParams({ ...query.data, ...more }).toString()}`;
    if (values.json) {
      const citation = await readArchive(values, config, {
        here: (opened) => citeWork(servicesOf(opened), asked, contextOf(opened)),
        there: async (node) => (await node.request('GET', path({}))) as Citation,
      });
      print(JSON.stringify(citation));
      return 0;
    }
    const text = await readArchive(values, config, {
      here: (opened) => citeAs(servicesOf(opened), asked, contextOf(opened), format),
      there: async (node) => (await node.download(path({ format }))).text(),
    });
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

function servicesOf({ store, deriver }: CollectionHere): ObservationServices {
  return { store, texts: new Texts({ store, deriver, write: store.write }) };
}

function contextOf({ store, nodeName }: CollectionHere): CitingContext {
  const { public_url } = openSettings(store).current;
  const printedOrigin = public_url === '' ? undefined : new URL(public_url).origin;
  return { origin: printedOrigin ?? DEFAULT_URL, publisher: nodeName, printedOrigin };
}
