import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { ArchivedDraw, PageCapture } from '../../../shared/collection/page.ts';
import { watchedUrlSchema } from '../../../shared/collection/source.ts';
import { instantOf, systemClock } from '../../../shared/values/clock.ts';
import { pageIdSchema } from '../../../shared/values/digest.ts';
import {
  type Command,
  type ExitCode,
  escapeForTerminal,
  NODE_OPTIONS,
  optionsHelp,
  print,
  printError,
  printJson,
  requireOne,
  UsageError,
} from '../command.ts';
import { RefusedByNodeError } from '../node/nodeClient.ts';
import { withArchive, withNode } from '../node/withNode.ts';

const PAGE_HELP = `Usage: strongroom page URL [options]

Captures one address now, as a person sees it: an isolated browser draws the page, and everything that the page loads is
stored. An address that is not watched becomes a paused source. If a node has the data folder open, that node captures
the page.

${optionsHelp(NODE_OPTIONS)}

Exit code: 0 if the page was captured, 1 if it could not be fetched or drawn, 2 if the capture could not be started.`;

export const page: Command = {
  name: 'page',
  summary: 'capture one address now, as a person sees it',
  help: PAGE_HELP,
  async run(args, config): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: NODE_OPTIONS });
    const url = requireUrl(requireOne(positionals, 'Name the URL of one page.'));
    try {
      const captured = await withNode(values, config, (node) => node.call('capturePage', { body: { url } }));
      if (values.json) printJson(captured);
      else printCapture(captured);
      return 0;
    } catch (error) {
      if (!isPageFailure(error)) throw error;
      if (values.json) printJson({ ok: false, sentence: error.message });
      else printError(error.message);
      return 1;
    }
  },
};

function printCapture({ id, url, document, text, picture, requests, outcome, reason }: PageCapture): void {
  const refused = requests.filter(({ from }) => from === 'refused').length;
  print(`${escapeForTerminal(url)} was captured as ${id}.`);
  print(`document  ${document}`);
  print(`text      ${text}`);
  print(`picture   ${picture}`);
  const count = requests.length === 1 ? '1 request' : `${requests.length} requests`;
  print(`${count}, ${refused} of them without an answer.`);
  if (outcome === 'cut') print(`The page was cut off by a limit: ${reason}.`);
}

const DRAW_OPTIONS = {
  output: { type: 'string', short: 'o', value: 'FILE', help: 'the PNG to write; required' },
  at: {
    type: 'string',
    value: 'TIME',
    help: 'with a URL: the time of the page, such as 2014-01-31 or 2014-01-31T12:00:00Z (default: now)',
  },
  ...NODE_OPTIONS,
} as const;

const DRAW_HELP = `Usage: strongroom draw PAGE_ID -o FILE.png [options]
       strongroom draw URL [--at TIME] -o FILE.png [options]

Draws a page from the archive alone, without a network, and writes its picture to a file. A page capture is drawn again
and compared with the result: with the same browser, fonts and settings, the picture and the text are the same. A URL is
drawn as it was at the given time: each request is answered with the capture nearest to that time. If a node has the
data folder open, that node draws the page.

${optionsHelp(DRAW_OPTIONS)}

Exit code: 0 if the page was drawn and does not differ from its capture, 1 if it differs, 2 if it could not be drawn.`;

export const draw: Command = {
  name: 'draw',
  summary: 'draw a page from the archive alone, and compare it with its capture',
  help: DRAW_HELP,
  async run(args, config): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: DRAW_OPTIONS });
    const named = requireOne(positionals, 'Name one page capture or one URL.');
    if (values.output === undefined) throw new UsageError('Name the file of the picture with -o.');
    const file = resolve(values.output);
    if (existsSync(file)) throw new UsageError(`${file} already exists; choose another name with -o.`);
    const isCapture = pageIdSchema.safeParse(named).success;
    if (isCapture && values.at !== undefined)
      throw new UsageError('A page capture has its own time; --at is for a URL.');
    const at = timeOf(values.at);
    const url = isCapture ? '' : requireUrl(named);
    const drawn = await withArchive(values, config, async (node) => {
      const page = isCapture
        ? await node.call('drawPage', { params: { id: named } })
        : await node.call('drawUrl', { body: { url, at } });
      const picture = await node.download('readPagePart', { params: { id: page.id, part: 'picture' } });
      await writeFile(file, picture, { flag: 'wx', flush: true });
      return page;
    });
    if (values.json) printJson({ ...drawn, file });
    else printDraw(drawn, file);
    return drawn.same_picture === false || drawn.same_text === false ? 1 : 0;
  },
};

function printDraw(drawn: ArchivedDraw, file: string): void {
  const { at, url, same_picture, same_text, differences, requests, outcome, reason } = drawn;
  print(`${escapeForTerminal(url)} was drawn as of ${at} into ${escapeForTerminal(file)}.`);
  if (outcome === 'cut') print(`The page was cut off by a limit: ${reason}.`);
  for (const { url: missing, reason: why } of requests.filter(({ from }) => from === 'refused'))
    print(
      `${why === 'not_held' ? 'The archive does not hold' : 'Without an answer'}: ${escapeForTerminal(missing)}`,
    );
  if (same_picture === null) return print('There is no page capture to compare it with.');
  print(`The picture is ${same_picture ? 'the same' : 'not the same'}.`);
  print(`The text is ${same_text ? 'the same' : 'not the same'}.`);
  for (const difference of differences) print(escapeForTerminal(difference));
}

function requireUrl(given: string): string {
  const { success, data } = watchedUrlSchema.safeParse(given);
  if (!success) throw new UsageError(`${escapeForTerminal(given)} is not an absolute http or https URL.`);
  return data;
}

/** A date, or a time with its zone. A time without one would depend on the machine. */
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

function timeOf(given: string | undefined): string {
  if (given === undefined) return instantOf(systemClock.now());
  const time = TIME.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(time))
    throw new UsageError(`${escapeForTerminal(given)} is not a time such as 2014-01-31T12:00:00Z.`);
  return instantOf(time);
}

/** Whether the page could not be fetched or drawn, which is a result. */
function isPageFailure(error: unknown): error is RefusedByNodeError {
  return error instanceof RefusedByNodeError && error.code === 'page_failed';
}
