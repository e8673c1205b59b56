import { Parser } from 'htmlparser2';
import { NotDerivableError } from '../../derived/notDerivable.ts';
import { readFeedLinks } from './feedLinks.ts';
import { feedInPieces } from './htmlLinks.ts';
import type { LinkCollector } from './linkCollector.ts';

const MAX_ADDRESS = 8_192;

/**
 * Reads the addresses of a sitemap (sitemaps.org): XML, an index of sitemaps, text with one address per line, or a feed.
 *
 * @throws NotDerivableError if it is none of these.
 */
export function readSitemapLinks(text: string, url: string, links: LinkCollector): void {
  if (!/^\s*</.test(text)) return readLines(text, links);
  const root = readXml(text, links);
  if (root === 'urlset' || root === 'sitemapindex') return;
  if (root !== 'html') return readFeedLinks(text, url, links);
  throw notSitemap();
}

/** Returns the name of the root element without its prefix. */
function readXml(text: string, links: LinkCollector): string | undefined {
  const open: string[] = [];
  let address: string | undefined;
  const parser = new Parser(
    {
      onopentagname(given) {
        open.push(withoutPrefix(given));
        // An image or a video has a `loc` too, with another parent.
        if (open.at(-1) === 'loc' && /^(url|sitemap)$/.test(open.at(-2) ?? '')) address = '';
      },
      ontext(piece) {
        if (address !== undefined && address.length < MAX_ADDRESS) address += piece;
      },
      onclosetag(_name, isImplied) {
        const name = open.pop();
        if (name !== 'loc' || address === undefined) return;
        // The document ends within the address.
        if (isImplied) return;
        if (open.at(-1) === 'sitemap') links.addSitemap(address);
        else links.add(address);
        address = undefined;
      },
    },
    { xmlMode: true, decodeEntities: true, lowerCaseTags: true },
  );
  const root = /<(?![?!])\s*([^\s/>]+)/.exec(text.slice(0, 65_536))?.[1];
  if (root !== undefined && /^(urlset|sitemapindex)$/.test(withoutPrefix(root.toLowerCase())))
    feedInPieces(parser, text);
  return root && withoutPrefix(root.toLowerCase());
}

function withoutPrefix(name: string): string {
  return name.slice(name.lastIndexOf(':') + 1);
}

function readLines(text: string, links: LinkCollector): void {
  let found = false;
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end === -1 ? undefined : end).trim();
    at = end === -1 ? text.length : end + 1;
    if (line.length > MAX_ADDRESS || !/^https?:\/\//i.test(line)) continue;
    found = true;
    links.add(line);
  }
  if (!found) throw notSitemap();
}

function notSitemap(): NotDerivableError {
  return new NotDerivableError('unsupported', 'The newest version is not a sitemap.');
}
