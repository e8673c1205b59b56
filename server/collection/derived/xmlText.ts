import { load } from 'cheerio/slim';
import type { Found, Link } from './extractedText.ts';
import { MAX_LINK_CHARACTERS, MAX_LINKS, MAX_MARKUP_CHARACTERS, MAX_TEXT_CHARACTERS } from './limits.ts';
import { isNavigableLink, type MarkupNode, walkMarkup } from './markup.ts';

/** What a document declares about itself: a parser that knows no DTD would take its end for text. */
const INTERNAL_SUBSET = /<!DOCTYPE[^<>[\]]*\[[^]*?\]\s*>/i;

/**
 * The text of an XML document, each element's in a line of its own, and what its `href`s lead to. Entities that the
 * document declares are not expanded, and nothing is fetched: the parser knows no DTD.
 */
export function xmlText(xml: string): Found {
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
