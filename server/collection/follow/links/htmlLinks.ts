import { Parser } from 'htmlparser2';
import type { LinkCollector } from './linkCollector.ts';

/** The most characters of a link's text that are read. */
const MAX_TEXT = 1_000;

/** Reads the links of a page: `a` and `area`, relative to `base`. Reads it piece by piece, without building a tree. */
export function readHtmlLinks(html: string, url: string, links: LinkCollector): void {
  let base: string | undefined;
  let open: { href: string; type?: string; text: string } | undefined;
  const close = () => {
    if (!open) return;
    const { href, type, text } = open;
    open = undefined;
    links.add(href, { ...(base !== undefined && { base }), ...(type && { type }), title: text });
  };
  const parser = new Parser({
    onopentag(name, { href, type, alt }) {
      if (name === 'base') {
        const resolved = href === undefined ? null : URL.parse(href.trim(), url);
        // Only the first counts (HTML Standard, section 4.2.3).
        if (base === undefined && resolved && /^https?:$/.test(resolved.protocol)) base = resolved.href;
      }
      if (name === 'img' && open && alt) open.text += ` ${alt.slice(0, MAX_TEXT)}`;
      if (name !== 'a' && name !== 'area') return;
      close();
      if (href === undefined) return;
      open = { href, ...(type !== undefined && { type }), text: name === 'area' ? (alt ?? '') : '' };
      if (name === 'area') close();
    },
    ontext(text) {
      if (open && open.text.length < MAX_TEXT) open.text += text.slice(0, MAX_TEXT);
    },
    onclosetag(name) {
      if (name === 'a') close();
    },
    onend: close,
  });
  feedInPieces(parser, html);
}

const PIECE = 65_536;

/** Parses a text in pieces, so that an error of the collector ends the parsing soon. */
export function feedInPieces(parser: Parser, text: string): void {
  for (let at = 0; at < text.length; at += PIECE) parser.write(text.slice(at, at + PIECE));
  parser.end();
}
