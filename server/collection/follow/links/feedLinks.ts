import { Parser } from 'htmlparser2';
import { NotDerivableError } from '../../derived/notDerivable.ts';
import { feedInPieces } from './htmlLinks.ts';
import type { LinkCollector } from './linkCollector.ts';

const MAX_TEXT = 4_096;
/** The most characters of a JSON Feed, which is parsed as a whole. */
const MAX_JSON_CHARACTERS = 16_777_216;

const ROOTS: ReadonlySet<string> = new Set(['rss', 'rdf:rdf', 'feed', 'channel']);
/** Prefixes that publishers give to the elements of RSS and Atom. */
const OWN_PREFIX = /^(atom\d*|a10|rss|ns\d):/;

interface Item {
  title: string;
  link: string;
  guid: string;
  hrefs: { href: string; type: string | undefined; base: string | undefined }[];
}

/**
 * Reads the addresses of a feed's items: RSS 0.9x, 1.0 and 2.0, Atom, and JSON Feed, with their enclosures. Feeds that
 * are not well-formed are read as far as possible. Entities that a document defines are never expanded.
 *
 * @throws NotDerivableError if it is not a feed.
 */
export function readFeedLinks(text: string, url: string, links: LinkCollector): void {
  if (/^\s*[{[]/.test(text)) readJsonFeed(text, links);
  else if (!readXmlFeed(text, url, links)) throw notFeed();
}

/** Returns whether the document is a feed. */
function readXmlFeed(text: string, url: string, links: LinkCollector): boolean {
  let root: string | undefined;
  let item: Item | undefined;
  let field: 'title' | 'link' | 'guid' | undefined;
  /** `xml:base` of the open elements, as far as they have one. */
  const bases: { depth: number; base: string }[] = [];
  let depth = 0;
  const parser = new Parser(
    {
      onopentag(given, attributes) {
        depth += 1;
        const name = given.replace(OWN_PREFIX, '');
        root ??= name;
        const outer = bases.at(-1)?.base ?? url;
        const base = attributes['xml:base'];
        if (base !== undefined) bases.push({ depth, base: URL.parse(base, outer)?.href ?? outer });
        if (name === 'item' || name === 'entry') item = { title: '', link: '', guid: '', hrefs: [] };
        if (!item) return;
        field = undefined;
        if (name === 'title' && item.title.trim() === '') field = 'title';
        if (name === 'link') {
          const { href, rel = 'alternate', type } = attributes;
          if (href === undefined && item.link.trim() === '') field = 'link';
          else if (href !== undefined && /^(alternate|enclosure)$/i.test(rel))
            item.hrefs.push({ href, type, base: bases.at(-1)?.base });
        }
        if (name === 'guid' && !/^false$/i.test(attributes.ispermalink ?? '')) field = 'guid';
        if (name === 'enclosure' && attributes.url !== undefined)
          item.hrefs.push({ href: attributes.url, type: attributes.type, base: bases.at(-1)?.base });
      },
      ontext(piece) {
        if (item && field && item[field].length < MAX_TEXT) item[field] += piece.slice(0, MAX_TEXT);
      },
      onclosetag(given, isImplied) {
        // The document ends within the address.
        if (isImplied && item && (field === 'link' || field === 'guid')) item[field] = '';
        if (bases.at(-1)?.depth === depth) bases.pop();
        depth -= 1;
        field = undefined;
        const name = given.replace(OWN_PREFIX, '');
        if (!item || (name !== 'item' && name !== 'entry')) return;
        addItem(item, links);
        item = undefined;
      },
    },
    { xmlMode: true, decodeEntities: true, lowerCaseTags: true, lowerCaseAttributeNames: true },
  );
  feedInPieces(parser, text);
  return root !== undefined && ROOTS.has(root);
}

function addItem({ title, link, guid, hrefs }: Item, links: LinkCollector): void {
  const named = { title };
  if (link.trim() !== '') links.add(link, named);
  for (const { href, type, base } of hrefs)
    links.add(href, {
      ...named,
      ...(type !== undefined && { type }),
      ...(base !== undefined && { base }),
    });
  // A guid is an address only if it looks like one: many are not, although nothing says so.
  if (link.trim() === '' && hrefs.length === 0 && /^\s*https?:\/\//i.test(guid)) links.add(guid, named);
}

function readJsonFeed(text: string, links: LinkCollector): void {
  if (text.length > MAX_JSON_CHARACTERS)
    throw new NotDerivableError('too_large', 'The feed is too large to be read.');
  let feed: unknown;
  try {
    feed = JSON.parse(text);
  } catch (error) {
    throw new NotDerivableError('damaged', 'The feed is not valid JSON.', error);
  }
  const items = fieldOf(feed, 'items');
  if (!Array.isArray(items)) throw notFeed();
  for (const item of items as unknown[]) {
    const title = textOf(item, 'title') ?? '';
    const url = textOf(item, 'url') ?? textOf(item, 'external_url');
    if (url !== undefined) links.add(url, { title });
    const attachments = fieldOf(item, 'attachments');
    for (const attachment of Array.isArray(attachments) ? (attachments as unknown[]) : []) {
      const [href, type] = [textOf(attachment, 'url'), textOf(attachment, 'mime_type')];
      if (href !== undefined) links.add(href, { title, ...(type !== undefined && { type }) });
    }
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function textOf(value: unknown, name: string): string | undefined {
  const found = fieldOf(value, name);
  return typeof found === 'string' && found.length <= MAX_TEXT ? found : undefined;
}

function notFeed(): NotDerivableError {
  return new NotDerivableError('unsupported', 'The newest version is not a feed (RSS, Atom or JSON Feed).');
}
