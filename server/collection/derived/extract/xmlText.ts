import { load } from 'cheerio/slim';
import { MAX_LINK_CHARACTERS, MAX_LINKS, MAX_MARKUP_CHARACTERS, MAX_TEXT_CHARACTERS } from '../limits.ts';
import type { Extraction, Link } from './extractedText.ts';
import { isNavigableLink, type MarkupNode, walkMarkup } from './markup.ts';

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
