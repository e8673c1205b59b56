import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { ArchivedDraw, PageCapture } from '../../../shared/collection/page.ts';
import { watchedUrlSchema } from '../../../shared/collection/source.ts';
import { Problem } from '../../../shared/problems.ts';
import { instantOf, systemClock } from '../../../shared/values/clock.ts';
import { pageIdSchema } from '../../../shared/values/digest.ts';
import type { NodeConfig } from '../../config.ts';
import { type CollectionHere, hereOrThere } from '../collectionHere.ts';
import {
  type Command,
  type ExitCode,
  escapeForTerminal,
  NODE_OPTIONS,
  optionsHelp,
  print,
  printError,
  requireOne,
  UsageError,
} from '../command.ts';
import { archiveFolder } from '../dataFolder.ts';
import { jsonContent, type NodeOptions, RefusedByNodeError, type RunningNode } from '../runningNode.ts';

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
      const captured = await withPages(values, config, (pages) => pages.capture(url));
      if (values.json) print(JSON.stringify(captured));
      else printCapture(captured);
      return 0;
    } catch (error) {
      if (!isPageFailure(error)) throw error;
      if (values.json) print(JSON.stringify({ ok: false, sentence: error.message }));
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
    archiveFolder(values.data);
    const drawn = await withPages(values, config, async (pages) => {
      const page = isCapture ? await pages.draw(named) : await pages.drawUrl(url, at);
      await writeFile(file, await pages.pictureOf(page), { flag: 'wx', flush: true });
      return page;
    });
    if (values.json) print(JSON.stringify({ ...drawn, file }));
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
function isPageFailure(error: unknown): error is Problem | RefusedByNodeError {
  return (error instanceof Problem || error instanceof RefusedByNodeError) && error.code === 'page_failed';
}

/** What captures and draws pages: this process, or the node that has the data folder open. */
interface Pages {
  capture(url: string): Promise<PageCapture>;
  draw(id: string): Promise<ArchivedDraw>;
  drawUrl(url: string, at: string): Promise<ArchivedDraw>;
  pictureOf(drawn: ArchivedDraw): Promise<Uint8Array>;
}

function withPages<Result>(
  options: NodeOptions,
  config: Partial<NodeConfig>,
  work: (pages: Pages) => Promise<Result>,
): Promise<Result> {
  return hereOrThere(options, config, {
    here: (opened) => work(pagesHere(opened)),
    there: (node) => work(remotePages(node)),
  });
}

function pagesHere({ collection }: CollectionHere): Pages {
  const { draws } = collection;
  return {
    capture: (url) => collection.capturePage(url),
    draw: (id) => draws.drawPage(id),
    drawUrl: (url, at) => draws.drawUrl(url, at),
    async pictureOf({ id }) {
      const kept = draws.find(id);
      if (!kept) throw new Error('The page that was just drawn is no longer available.');
      return kept.outputs.picture;
    },
  };
}

function remotePages(node: RunningNode): Pages {
  const post = (path: string, body: object) => node.request('POST', path, jsonContent(body));
  return {
    capture: async (url) => (await post('/manage/pages', { url })) as PageCapture,
    draw: async (id) => (await node.request('POST', `/archive/pages/${id}/draw`)) as ArchivedDraw,
    drawUrl: async (url, at) => (await post('/archive/draw', { url, at })) as ArchivedDraw,
    pictureOf: async ({ id }) => (await node.download(`/archive/pages/${id}/picture`)).bytes(),
  };
}
