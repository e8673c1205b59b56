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
    return `What a person sees is made by scripts. Only the shell is kept: ${root} is empty.`;
  if (hasMedia) return undefined;
  if (LOADING.test(text) && LOADING.test(rootText))
    return 'What a person sees is made by scripts. Only the shell is kept: the page has scripts and no text.';
  if (NEEDS_SCRIPTS.test(noscript) && text.length + rootText.length <= MAX_TEXT_BESIDE_ROOT)
    return 'What a person sees is made by scripts. Only the shell is kept: without scripts the page asks for JavaScript.';
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
  for (let tag = tags.exec(html); tag; tag = tags.exec(html)) {
    take(html.slice(at, tag.index));
    if (letters > MAX_LETTERS) return undefined;
    take(' ');
    at = tags.lastIndex;
    const [, slash, name = '', attributes = ''] = tag;
    const element = name.toLowerCase();
    if (element === '') continue;
    if (slash) {
      if (depth > 0 && element === rootName) depth -= 1;
      continue;
    }
    if (MEDIA.test(element)) parts.hasMedia = true;
    if (element === 'script' && isExecutable(attributes)) parts.hasScript = true;
    if (SKIPPED.test(element) && !attributes.endsWith('/')) {
      const end = endOf(html, element, at);
      if (element === 'noscript') parts.noscript += html.slice(at, end);
      at = end;
      tags.lastIndex = end;
      continue;
    }
    const opens = !VOID.test(element) && !attributes.endsWith('/');
    if (depth > 0 && element === rootName && opens) depth += 1;
    else if (depth === 0 && opens && parts.root === undefined && isRoot(element, attributes)) {
      parts.root = rootTag(element, attributes);
      rootName = element;
      depth = 1;
    }
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
