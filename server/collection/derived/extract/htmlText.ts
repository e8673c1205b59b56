import { type FormatCallback, type HtmlToTextOptions, htmlToText } from 'html-to-text';
import {
  MAX_ELEMENT_DEPTH,
  MAX_LINK_CHARACTERS,
  MAX_LINKS,
  MAX_MARKUP_CHARACTERS,
  MAX_TITLE_CHARACTERS,
} from '../limits.ts';
import type { Extraction, Link } from './extractedText.ts';
import { isNavigableLink, type MarkupNode, textWithin } from './markup.ts';

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
