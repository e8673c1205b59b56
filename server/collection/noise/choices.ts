import { MAX_COMPARED_TEXT } from '../../../shared/collection/chooserLimits.ts';
import { selectorOf, type Watch, type WatchChoice } from '../../../shared/collection/noise.ts';
import { decodeText, readBody } from '../derived/body.ts';
import { MAX_DIFF_MEGABYTES, TimeLimitError, withTimeLimit } from '../derived/limits.ts';
import type { ChoicesTask } from '../derived/process/tasks.ts';
import {
  findInvalid,
  findNodes,
  type MarkupNode,
  parseMarkup,
  selectsElements,
  shownTexts,
} from './selectors.ts';

/** Time limits for one name, and for all of them. */
const CANDIDATE_MS = 1_000;
const ALL_MS = 5_000;
/** How much of the text is shown. */
const MAX_EXCERPT = 300;

/**
 * Finds which ways to name an element of a page work in it. A browser reads a page differently from the parser with which
 * parts are looked for, so each is tried, and its text compared with that of the element. Blocks its thread; runs in the
 * derive process.
 *
 * @throws NotDerivableError `object_missing`, `object_damaged` and others of `readBody`
 */
export function findChoices({ object, candidates, text }: ChoicesTask): WatchChoice[] {
  const { bytes, kind, isCut } = readBody(object, MAX_DIFF_MEGABYTES * 1_000_000);
  if (kind !== 'html' || isCut) return [];
  const document = parseMarkup(decodeText(bytes, object.contentType), false);
  const ends = performance.now() + ALL_MS;
  const choices: WatchChoice[] = [];
  for (const watch of candidates) {
    const selector = selectorOf(watch);
    if (!selectsElements(selector.kind, false) || findInvalid([selector])) continue;
    const nodes = inTime(Math.min(CANDIDATE_MS, ends - performance.now()), () =>
      findNodes(document, selector),
    );
    if (!nodes || nodes.length === 0) continue;
    const found = textOf(nodes);
    const excerpt = found.replace(/\s+/g, ' ').trim().slice(0, MAX_EXCERPT).toWellFormed();
    choices.push({
      watch,
      parts: nodes.length,
      text: excerpt,
      same: nodes.length === 1 && begins(found) === text,
    });
  }
  return withOneSelector(choices);
}

/** Keeps headings and tables, and of the other names the first that names the element alone, or else a single part. */
function withOneSelector(choices: readonly WatchChoice[]): WatchChoice[] {
  const others = choices.filter(({ watch }) => isPlace(watch));
  const kept = others.find(({ same }) => same) ?? others.find(({ parts }) => parts === 1);
  return choices.filter((choice) => !isPlace(choice.watch) || choice === kept);
}

function isPlace(watch: Watch): boolean {
  return 'css' in watch || 'xpath' in watch;
}

/** Undefined if it took too long, or failed because a recursion was too deep. */
function inTime<Found>(milliseconds: number, find: () => Found): Found | undefined {
  if (milliseconds <= 0) return undefined;
  try {
    return withTimeLimit(milliseconds, find);
  } catch (error) {
    if (error instanceof TimeLimitError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The text that is compared: without white space, which browsers and parsers treat differently. */
function begins(text: string): string {
  return text.replace(/\s+/g, '').slice(0, MAX_COMPARED_TEXT);
}

/** The text is compared without white space, of which there may be much. */
const MAX_TEXT = 20_000;

/** Returns the beginning of the text of nodes, in the order of the document. */
function textOf(nodes: readonly MarkupNode[]): string {
  let text = '';
  for (const { data = '' } of shownTexts(nodes)) {
    text += data;
    if (text.length >= MAX_TEXT) break;
  }
  return text;
}
