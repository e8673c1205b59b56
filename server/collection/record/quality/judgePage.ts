import { LABEL_SCORE, type PageLabel, type QualityFinding } from '../../../../shared/collection/event.ts';
import { findTitle, headersOf, htmlOf, isWholeHtml, type PageResponse, shortTextIn } from './pageHtml.ts';
import { ERROR_RULES, type PageFacts, type QualityRule, RATE_RULES, WALL_RULES } from './rules.ts';

export type { PageResponse } from './pageHtml.ts';

/**
 * Detects responses that are probably not the requested page: a bot wall, a rate limit, an error page with status 200, or
 * a shell whose text is built by scripts. A label is only a remark; it does not change how the response is recorded. The
 * rules are narrow on purpose, because a wrong label is worse than none.
 */
export async function detectPageLabel(page: PageResponse): Promise<PageLabel | null> {
  return (await describePage(page)).page_label;
}

/** Whether a page with this status says next to nothing before its scripts run. */
export async function isDrawnByScript(page: PageResponse): Promise<boolean> {
  const { html, isWhole } = await factsOf(page);
  if (!isWhole || page.status === null || page.status < 200 || page.status >= 300) return false;
  if (scriptShellReason(html) !== undefined) return true;
  const parts = partsOf(html);
  return parts?.hasScript === true && visible(parts.text + parts.rootText).length <= MAX_NEXT_TO_NO_TEXT;
}

/** Returns the label of a response, and its title with collapsed white space, or null if it has none. */
export async function describePage(
  page: PageResponse,
): Promise<{ page_label: PageLabel | null; title: string | null }> {
  const facts = await factsOf(page);
  return { page_label: labelOf(findingsIn(facts)), title: facts.title };
}

const SHELL_RULE: QualityRule = {
  id: 'shell.scripts',
  label: 'script_shell',
  score: 100,
  when: 'ok',
  find: ({ html, isWhole }) => (isWhole ? scriptShellReason(html) : undefined),
};

const RULES: readonly QualityRule[] = [...WALL_RULES, ...RATE_RULES, ...ERROR_RULES, SHELL_RULE];

/** Returns what the rules find in a response, in the order of the rules. */
export async function findingsOf(page: PageResponse): Promise<QualityFinding[]> {
  return findingsIn(await factsOf(page));
}

/** Reads a response as the rules see it. */
async function factsOf(page: PageResponse): Promise<PageFacts> {
  const headers = headersOf(page);
  const html = htmlOf(page, headers);
  return {
    page,
    headers,
    html,
    title: await findTitle(html),
    text: html === '' ? '' : (shortTextIn(html) ?? ''),
    isWhole: isWholeHtml(page, headers, html),
  };
}

/** Returns what the rules find in a response that was read, in the order of the rules. */
function findingsIn(facts: PageFacts): QualityFinding[] {
  const { status } = facts.page;
  const ok = status !== null && status >= 200 && status < 300;
  return RULES.flatMap(({ id, label, score, when, find }) => {
    const reason = ok || when === 'always' ? find(facts) : undefined;
    return reason === undefined || reason === '' ? [] : [{ rule: id, label, score, reason }];
  });
}

/**
 * Returns the first label by `RANK` whose findings together have at least `LABEL_SCORE`, with the reason of the strongest
 * one.
 */
export function labelOf(findings: readonly QualityFinding[]): PageLabel | null {
  const scores = new Map<PageLabel['label'], number>();
  for (const { label, score } of findings) scores.set(label, (scores.get(label) ?? 0) + score);
  let best: PageLabel['label'] | undefined;
  for (const [label, score] of scores)
    if (score >= LABEL_SCORE && (best === undefined || RANK[label] < RANK[best])) best = label;
  if (best === undefined) return null;
  const strongest = findings
    .filter(({ label }) => label === best)
    .reduce((left, right) => (right.score > left.score ? right : left));
  return { label: best, reason: strongest.reason };
}

/** A wall explains an error, and both explain an empty page. */
const RANK: Record<PageLabel['label'], number> = {
  bot_wall: 0,
  rate_limit: 1,
  error_page: 2,
  script_shell: 3,
};

/**
 * Judges whether an HTML page is a shell: a page whose text is made by its scripts in the browser, so that only the empty
 * frame is archived. The thresholds are narrow on purpose, because a wrong label is worse than none.
 */

/** The elements into which the usual frameworks render, by id: React, Vue, Svelte, Next.js, Nuxt, Gatsby, Ember. */
const ROOT_IDS: ReadonlySet<string> = new Set([
  'root',
  'app',
  'app-root',
  'react-root',
  'reactroot',
  'main-app',
  'svelte',
  'application',
  'ember-app',
  '__next',
  '__nuxt',
  '___gatsby',
  'q-app',
]);

/** A page with so little text, as a name and “Loading”, is worth drawing. That is advice, so it is wider than a label. */
const MAX_NEXT_TO_NO_TEXT = 40;

/** Text outside an empty root, such as a footer. */
const MAX_TEXT_BESIDE_ROOT = 120;
/** The same if it is a cookie banner, which is longer. */
const MAX_BANNER_TEXT = 1_200;
const BANNER = /\bcookies?\b|\bconsent\b|\bcookie-/i;
/** What a root holds until its script runs. */
const LOADING =
  /^(loading|please wait|one moment|wird geladen|laden|lädt|chargement|cargando|caricamento|carregando)?[\s.…]*(please wait)?[\s.…]*$/i;
const NEEDS_SCRIPTS = /java\s?script/i;

/** A page with more letters in and beside its root is not a shell, whatever else it has. Most pages are such. */
const MAX_LETTERS = 2 * MAX_BANNER_TEXT;

interface PageParts {
  /** The text outside the root. */
  text: string;
  /** The text inside the root. */
  rootText: string;
  /** The root as it is written, such as `<div id="root">`; undefined if there is none. */
  root: string | undefined;
  noscript: string;
  /** Whether any script runs; structured data does not count. */
  hasScript: boolean;
  /** Whether there is anything to see besides text: an image, a frame, a form. */
  hasMedia: boolean;
}

/**
 * Returns why a page is a shell, as a sentence, or undefined if it is not one.
 *
 * @param html the whole page: a part of one cannot be judged.
 */
export function scriptShellReason(html: string): string | undefined {
  if (!/<script\b/i.test(html)) return undefined;
  const parts = partsOf(html);
  if (!parts?.hasScript) return undefined;
  const { root, noscript, hasMedia } = parts;
  const text = visible(parts.text);
  const rootText = visible(parts.rootText);
  const limit = BANNER.test(text) ? MAX_BANNER_TEXT : MAX_TEXT_BESIDE_ROOT;
  if (root !== undefined && LOADING.test(rootText) && text.length <= limit)
    return `Scripts build the visible content. Only the shell is kept: ${root} is empty.`;
  if (hasMedia) return undefined;
  if (LOADING.test(text) && LOADING.test(rootText))
    return 'Scripts build the visible content. Only the shell is kept: the page has scripts and no text.';
  if (NEEDS_SCRIPTS.test(noscript) && text.length + rootText.length <= MAX_TEXT_BESIDE_ROOT)
    return 'Scripts build the visible content. Only the shell is kept: without scripts the page asks for JavaScript.';
  return undefined;
}

const SKIPPED = /^(script|style|noscript|template|title|svg|textarea)$/;
const MEDIA =
  /^(img|picture|video|audio|iframe|frame|frameset|object|embed|canvas|input|select|button|form)$/;
const VOID = /^(area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr|frame)$/;
/** A tag name and its attributes. Attribute values may hold `>` only in quotes. */
const TAG = /<(\/?)([a-z][a-z0-9:-]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>|<!--[\s\S]*?(?:-->|$)|<[!?][^>]*>/gi;

/**
 * Splits a page at its tags, or returns undefined if it has too much text for a shell. Runs in linear time on any input of
 * the size that is judged.
 */
function partsOf(html: string): PageParts | undefined {
  const parts: PageParts = {
    text: '',
    rootText: '',
    root: undefined,
    noscript: '',
    hasScript: false,
    hasMedia: false,
  };
  /** The elements of the root's name that are open inside it; 0 outside the root. */
  let depth = 0;
  let rootName = '';
  let at = 0;
  let letters = 0;
  const take = (part: string) => {
    letters += lettersIn(part);
    if (depth > 0) parts.rootText += part;
    else parts.text += part;
  };
  const tags = new RegExp(TAG);
  /** Enters a root, or another element of its name inside it. */
  const open = (element: string, attributes: string) => {
    if (VOID.test(element) || attributes.endsWith('/')) return;
    if (depth > 0) depth += Number(element === rootName);
    else if (parts.root === undefined && isRoot(element, attributes)) {
      parts.root = rootTag(element, attributes);
      rootName = element;
      depth = 1;
    }
  };
  for (let tag = tags.exec(html); tag; tag = tags.exec(html)) {
    take(html.slice(at, tag.index));
    if (letters > MAX_LETTERS) return undefined;
    take(' ');
    at = tags.lastIndex;
    const [, slash, name = '', attributes = ''] = tag;
    const element = name.toLowerCase();
    if (slash) {
      if (depth > 0 && element === rootName) depth -= 1;
      continue;
    }
    if (element === '') continue;
    parts.hasMedia ||= MEDIA.test(element);
    parts.hasScript ||= element === 'script' && isExecutable(attributes);
    if (!SKIPPED.test(element) || attributes.endsWith('/')) {
      open(element, attributes);
      continue;
    }
    const end = endOf(html, element, at);
    if (element === 'noscript') parts.noscript += html.slice(at, end);
    at = end;
    tags.lastIndex = end;
  }
  take(html.slice(at));
  return letters > MAX_LETTERS ? undefined : parts;
}

/** The most that an entity such as `&nbsp;` takes. */
const MAX_ENTITY = 12;

/** Counts at least as few letters as a person sees: no white space, no dots, no entities. Stops beyond `MAX_LETTERS`. */
function lettersIn(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length && count <= MAX_LETTERS; at += 1) {
    const code = text.charCodeAt(at);
    if (code === AMPERSAND) at += MAX_ENTITY - 1;
    else if (code > 0x20 && code !== DOT && !(code >= 0x80 && isSpaceOrDots(code))) count += 1;
  }
  return count;
}

const AMPERSAND = 0x26;
const DOT = 0x2e;

function isSpaceOrDots(code: number): boolean {
  return code === 0xa0 || (code >= 0x1680 && code <= 0x3000) || code === 0xfeff;
}

function endOf(html: string, element: string, from: number): number {
  const closing = new RegExp(`</${element}\\b`, 'gi');
  closing.lastIndex = from;
  return closing.exec(html)?.index ?? html.length;
}

function isExecutable(attributes: string): boolean {
  const type = /\btype\s*=\s*["']?([^"'\s>]+)/i.exec(attributes)?.[1]?.toLowerCase();
  return (
    type === undefined || type === 'module' || type.includes('javascript') || type.includes('ecmascript')
  );
}

const ID = /\bid\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i;

function idIn(attributes: string): string | undefined {
  const [, double, single, bare] = ID.exec(attributes) ?? [];
  return double ?? single ?? bare;
}

/** Angular and web components render into an element of their own name, such as `<app-root>`. */
function isRoot(element: string, attributes: string): boolean {
  if (/-(root|app)$/.test(element)) return true;
  if (!/^(div|main|section|body)$/.test(element)) return false;
  const id = idIn(attributes)?.toLowerCase();
  return (
    (id !== undefined && ROOT_IDS.has(id)) ||
    /\bdata-(?:react-?root|v-app|server-rendered)\b/i.test(attributes)
  );
}

function rootTag(element: string, attributes: string): string {
  const id = idIn(attributes);
  return id === undefined ? `<${element}>` : `<${element} id="${id.slice(0, 40)}">`;
}

/** Entities such as `&nbsp;` are white space here, or one letter each: only the length counts. */
function visible(text: string): string {
  return text
    .replace(/&(?:nbsp|#160|#xa0|zwnj|#8203);/gi, ' ')
    .replace(/&[a-z0-9#]{1,10};/gi, 'x')
    .replace(/[\s\u200b-\u200d\ufeff]+/g, ' ')
    .trim();
}
