import { type FormatCallback, type HtmlToTextOptions, htmlToText } from 'html-to-text';
import type { Found, Link } from './extractedText.ts';
import {
  MAX_ELEMENT_DEPTH,
  MAX_LINK_CHARACTERS,
  MAX_LINKS,
  MAX_MARKUP_CHARACTERS,
  MAX_TITLE_CHARACTERS,
} from './limits.ts';
import { isNavigableLink, type MarkupNode, textWithin } from './markup.ts';

/** A sign that no page writes: where it stands, something was left out. */
const LEFT_OUT = '\u0001';

/** The text of a page as it would be read, without what runs or only shows; its links; its title. */
export function htmlText(html: string): Found {
  const aside: Aside = { links: [], title: null };
  const parsed = html.slice(0, MAX_MARKUP_CHARACTERS).replaceAll(LEFT_OUT, ' ');
  const text = htmlToText(parsed, { ...OPTIONS, formatters: formattersFor(aside) });
  return {
    title: aside.title,
    text: text
      .replaceAll(LEFT_OUT, ' ')
      .replace(/[ \t]+$/gm, '')
      .replace(/\n{3,}/g, '\n\n'),
    links: aside.links,
    truncated: html.length > MAX_MARKUP_CHARACTERS || text.includes(LEFT_OUT),
  };
}

/** What is found beside the text. */
interface Aside {
  links: Link[];
  title: string | null;
}

function formattersFor(aside: Aside): Record<string, FormatCallback> {
  return {
    anchor(element, walk, builder) {
      walk(element.children, builder);
      const { href = '', children } = attributesOf(element);
      const isKept = isNavigableLink(href) && href.length <= MAX_LINK_CHARACTERS;
      if (isKept && aside.links.length < MAX_LINKS)
        aside.links.push({ text: textWithin(children, MAX_TITLE_CHARACTERS), href });
    },
    title(element) {
      aside.title ??= textWithin(attributesOf(element).children, MAX_TITLE_CHARACTERS) || null;
    },
    /** Cells of a row stand in one line, parted by tabs; widths and spans are a matter of the page's looks. */
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
