import { load } from 'cheerio/slim';
import { type FormatCallback, type HtmlToTextOptions, htmlToText } from 'html-to-text';
import {
  MAX_ELEMENT_DEPTH,
  MAX_LINK_CHARACTERS,
  MAX_LINKS,
  MAX_MARKUP_CHARACTERS,
  MAX_TEXT_CHARACTERS,
  MAX_TITLE_CHARACTERS,
} from '../limits.ts';
import type { MediaKind } from '../mediaKind.ts';

/** A link as it appears in the document: its text and its unresolved target. */
interface Link {
  text: string;
  href: string;
}

/** The kinds that text is extracted from. */
export type TextKind = Exclude<MediaKind, 'image' | 'other'>;

/** The readable text of an object. Pages of a PDF are separated by form feeds (U+000C). */
export interface ExtractedText {
  kind: TextKind;
  title: string | null;
  text: string;
  links?: Link[];
  pages?: number;
  /** Whether something was left out because of its length or depth. */
  truncated: boolean;
}

/** The result of the extractor of one kind; `extractText` truncates it to the limits. */
export type Extraction = Omit<ExtractedText, 'kind'>;

/** The common part of the nodes of the HTML and XML parsers: elements have children, texts have data. */
interface MarkupNode {
  type: string;
  name?: string | undefined;
  data?: string | undefined;
  attribs?: Record<string, string> | undefined;
  children?: readonly MarkupNode[] | undefined;
}

/** Called for each text, and for each element when it begins and when it ends. */
interface MarkupVisitor {
  text(data: string): void;
  begin?(element: MarkupNode): void;
  end?(element: MarkupNode): void;
}

/** Walks a tree in document order. Not recursive, because a hostile document can be arbitrarily deep. */
function walkMarkup(nodes: readonly MarkupNode[], visitor: MarkupVisitor, shouldStop: () => boolean): void {
  const open: { element: MarkupNode | undefined; nodes: readonly MarkupNode[]; next: number }[] = [
    { element: undefined, nodes, next: 0 },
  ];
  for (let level = open.at(-1); level && !shouldStop(); level = open.at(-1)) {
    const node = level.nodes[level.next++];
    if (!node) {
      open.pop();
      if (level.element) visitor.end?.(level.element);
    } else if (node.children) {
      // A CDATA section is not an element; its text is its child.
      const element = node.type === 'cdata' ? undefined : node;
      if (element) visitor.begin?.(element);
      open.push({ element, nodes: node.children, next: 0 });
    } else if (node.type === 'text' && node.data) {
      visitor.text(node.data);
    }
  }
}

/** Returns the text within nodes as one line, truncated to `maxLength`. */
function textWithin(nodes: readonly MarkupNode[], maxLength: number): string {
  let text = '';
  const limit = 4 * maxLength;
  walkMarkup(nodes, { text: (data) => void (text += data.slice(0, limit)) }, () => text.length > limit);
  return text.replace(/\s+/g, ' ').trim().slice(0, maxLength).toWellFormed();
}

/** Returns whether a link leads to another document: not a script, data or a fragment of the page itself. */
function isNavigableLink(href: string): boolean {
  if (href === '' || href.startsWith('#')) return false;
  // Browsers ignore control characters and blanks within a scheme.
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(href.replace(/[\x00-\x20]/g, ''))?.[1]?.toLowerCase();
  return scheme === undefined || ['http', 'https', 'ftp', 'mailto', 'tel'].includes(scheme);
}

/** A control character, removed from the input, that marks where html-to-text left something out. */
const LEFT_OUT = '\u0001';

/** Extracts the readable text of a page (no scripts, styles or graphics), its links and its title. */
export function htmlText(html: string): Extraction {
  const extras: Extras = { links: [], title: null };
  const parsed = html.slice(0, MAX_MARKUP_CHARACTERS).replaceAll(LEFT_OUT, ' ');
  const text = htmlToText(parsed, { ...OPTIONS, formatters: formattersFor(extras) });
  return {
    title: extras.title,
    text: text
      .replaceAll(LEFT_OUT, ' ')
      .replace(/[ \t]+$/gm, '')
      .replace(/\n{3,}/g, '\n\n'),
    links: extras.links,
    truncated: html.length > MAX_MARKUP_CHARACTERS || text.includes(LEFT_OUT),
  };
}

/** Collected by the formatters in addition to the text. */
interface Extras {
  links: Link[];
  title: string | null;
}

function formattersFor(extras: Extras): Record<string, FormatCallback> {
  return {
    anchor(element, walk, builder) {
      walk(element.children, builder);
      const { href = '', children } = attributesOf(element);
      const isKept = isNavigableLink(href) && href.length <= MAX_LINK_CHARACTERS;
      if (isKept && extras.links.length < MAX_LINKS)
        extras.links.push({ text: textWithin(children, MAX_TITLE_CHARACTERS), href });
    },
    title(element) {
      extras.title ??= textWithin(attributesOf(element).children, MAX_TITLE_CHARACTERS) || null;
    },
    /** The cells of a row go into one tab-separated line; widths and spans are ignored. */
    cell(element, walk, builder) {
      walk(element.children, builder);
      builder.addLiteral('\t');
    },
    image(element, _walk, builder) {
      const { alt } = attributesOf(element);
      if (alt) builder.addInline(alt);
    },
  };
}

function attributesOf(element: MarkupNode): { href?: string; alt?: string; children: readonly MarkupNode[] } {
  const { href, alt } = element.attribs ?? {};
  return {
    ...(href !== undefined && { href: href.trim() }),
    ...(alt !== undefined && { alt }),
    children: element.children ?? [],
  };
}

const line = { leadingLineBreaks: 1, trailingLineBreaks: 1 };
const paragraph = { leadingLineBreaks: 2, trailingLineBreaks: 2 };
const SKIPPED = ['script', 'style', 'template', 'noscript', 'svg', 'iframe', 'object', 'canvas', 'textarea'];
const LINES = ['tr', 'caption', 'dt', 'dd', 'option', 'figcaption', 'summary', 'legend'];

const OPTIONS: HtmlToTextOptions = {
  wordwrap: false,
  baseElements: { selectors: ['html'], returnDomByDefault: true },
  limits: { maxDepth: MAX_ELEMENT_DEPTH, ellipsis: LEFT_OUT, maxInputLength: MAX_MARKUP_CHARACTERS + 1 },
  selectors: [
    ...SKIPPED.map((selector) => ({ selector, format: 'skip' })),
    ...LINES.map((selector) => ({ selector, format: 'block', options: line })),
    ...['table', 'hr', 'dl'].map((selector) => ({ selector, format: 'block', options: paragraph })),
    ...['td', 'th'].map((selector) => ({ selector, format: 'cell' })),
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({
      selector,
      options: { uppercase: false },
    })),
    { selector: 'title', format: 'title' },
    { selector: 'a', format: 'anchor' },
    { selector: 'img', format: 'image' },
    { selector: 'ul', options: { itemPrefix: '- ' } },
  ],
};

/** Removed before parsing: the parser does not support DTDs and would read the end of the subset as text. */
const INTERNAL_SUBSET = /<!DOCTYPE[^<>[\]]*\[[^]*?\]\s*>/i;

/**
 * Extracts the text of an XML document, one line per element, and its `href` links. Entities declared in the document are
 * not expanded and nothing is fetched, because the parser does not support DTDs.
 */
export function xmlText(xml: string): Extraction {
  const parsed = xml.slice(0, MAX_MARKUP_CHARACTERS).replace(INTERNAL_SUBSET, '');
  const nodes: readonly MarkupNode[] = load(parsed, { xml: true }).root().get(0)?.children ?? [];
  const lines: string[] = [];
  const links: Link[] = [];
  let line = '';
  let title: string | undefined;
  let characters = 0;
  const endLine = () => {
    const text = line.replace(/\s+/g, ' ').trim();
    if (text !== '') lines.push(text);
    line = '';
    return text;
  };
  walkMarkup(
    nodes,
    {
      begin({ attribs }) {
        endLine();
        const href = attribs?.href?.trim() ?? '';
        if (!isNavigableLink(href) || href.length > MAX_LINK_CHARACTERS || links.length >= MAX_LINKS) return;
        links.push({ text: attribs?.title ?? '', href });
      },
      text(data) {
        line += data;
        characters += data.length;
      },
      end({ name }) {
        const text = endLine();
        if (name?.toLowerCase() === 'title' && text !== '') title ??= text;
      },
    },
    () => characters > MAX_TEXT_CHARACTERS,
  );
  endLine();
  return {
    title: title ?? null,
    text: lines.join('\n'),
    links,
    truncated: xml.length > MAX_MARKUP_CHARACTERS || characters > MAX_TEXT_CHARACTERS,
  };
}
