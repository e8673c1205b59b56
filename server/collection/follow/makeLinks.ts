import { Parser } from 'htmlparser2';
import mime from 'mime-types';
import { RE2JS } from 're2js';
import { watchedUrlSchema } from '../../../shared/collection/source.ts';
import { decodeText, readBody } from '../derived/body.ts';
import { MAX_BYTES_READ } from '../derived/limits.ts';
import { type LinksResult, type LinksTask, NotDerivableError } from '../derived/process/tasks.ts';
import { gunzipSync } from '../fetch/gunzip.ts';

/**
 * Reads the addresses that an object links to or lists, at most `maxListed` different ones. Runs in the derive process.
 *
 * @throws NotDerivableError
 */
export function makeLinks(task: LinksTask, maxListed = MAX_LISTED): LinksResult {
  const { object, follow, url } = task;
  const { bytes: body, kind, isCut } = readBody(object, MAX_BYTES_READ);
  const bytes = follow.kind === 'links' ? body : gunzipped(body, isCut);
  const text = decodeText(bytes, object.contentType).replace(/^\ufeff/, '');
  const links = new LinkCollector(task, maxListed);
  try {
    if (follow.kind === 'feed') readFeedLinks(text, url, links);
    else if (follow.kind === 'sitemap') readSitemapLinks(text, url, links);
    else if (kind === 'html' || kind === 'xml') readHtmlLinks(text, url, links);
    else throw new NotDerivableError('unsupported', 'The newest version is not a page with links.');
    if (isCut) links.stop();
  } catch (error) {
    if (!(error instanceof TooManyLinksError)) throw error;
  }
  return links.result();
}

/** Sitemaps are often served as gzip files, and feeds sometimes, without a content encoding. */
function gunzipped(bytes: Uint8Array, isCut: boolean): Uint8Array {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  if (isCut) throw new NotDerivableError('too_large', 'The compressed file is too large to be read.');
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_BYTES_READ });
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    if (error.code === 'ERR_BUFFER_TOO_LARGE')
      throw new NotDerivableError(
        'too_large',
        `The file is larger than ${MAX_BYTES_READ} bytes uncompressed.`,
      );
    throw new NotDerivableError('damaged', 'The file cannot be read as gzip.', error);
  }
}

/** The most different addresses that are read from one document. */
const MAX_LISTED = 100_000;
/** The most matching addresses that are returned. */
const MAX_MATCHED = 10_000;
const MAX_TITLE = 200;
/** The most sitemaps that are read from one index. */
const MAX_SITEMAPS = 50;

/** Enough addresses were read: all of the document, or as many as are allowed. */
class TooManyLinksError extends Error {}

/** Collects the addresses of one document: resolved, without fragments and duplicates, and only those that match. */
class LinkCollector {
  readonly #task: LinksTask;
  readonly #known: ReadonlySet<string>;
  readonly #linked = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #links = new Map<string, string>();
  readonly #sitemaps = new Set<string>();
  readonly #matches: (url: URL, type: string | undefined) => boolean;
  readonly #maxListed: number;
  #isComplete = true;

  constructor(task: LinksTask, maxListed: number) {
    this.#task = task;
    this.#maxListed = maxListed;
    this.#known = new Set(task.known);
    this.#matches = matcherOf(task);
  }

  /**
   * Adds an address. Invalid addresses and other schemes than http and https are left out.
   *
   * @param base the address that it is relative to, if not that of the document
   * @throws TooManyLinksError once enough were read.
   */
  add(href: string, { base, title = '', type }: { base?: string; title?: string; type?: string } = {}): void {
    const url = URL.parse(href.trim(), base ?? this.#task.url);
    if (!url || !/^https?:$/.test(url.protocol)) return;
    url.hash = '';
    const { href: address } = url;
    if (address === this.#task.self) return;
    if (!this.#seen.has(address)) {
      if (this.#seen.size >= this.#maxListed) throw this.stop();
      this.#seen.add(address);
      if (this.#known.has(address)) this.#linked.add(address);
    }
    // An address may be linked again with a title, or with a type that matches.
    if (this.#links.get(address) || !this.#matches(url, type)) return;
    if (!this.#links.has(address) && this.#links.size >= MAX_MATCHED) {
      this.#isComplete = false;
      return;
    }
    if (!watchedUrlSchema.safeParse(address).success) return;
    this.#links.set(address, shortTitle(title));
  }

  /** Adds a sitemap of an index. */
  addSitemap(href: string): void {
    const url = URL.parse(href.trim(), this.#task.url);
    if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return;
    url.hash = '';
    if (this.#sitemaps.size < MAX_SITEMAPS) this.#sitemaps.add(url.href);
    else if (!this.#sitemaps.has(url.href)) this.#isComplete = false;
  }

  /** Records that the rest of the document is not read. */
  stop(): TooManyLinksError {
    this.#isComplete = false;
    return new TooManyLinksError();
  }

  result(): LinksResult {
    return {
      links: [...this.#links].map(([url, title]) => ({ url, title })),
      linked: [...this.#linked],
      sitemaps: [...this.#sitemaps],
      listed: this.#seen.size,
      complete: this.#isComplete,
    };
  }
}

function shortTitle(title: string): string {
  const line = title
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .toWellFormed()
    .trim();
  return Array.from(line).slice(0, MAX_TITLE).join('').trim();
}

function matcherOf({ follow, hosts }: LinksTask): (url: URL, type: string | undefined) => boolean {
  const expression = follow.match === undefined ? undefined : RE2JS.compile(follow.match);
  const hasType = typeMatcher(follow.types);
  return (url, type) => {
    const isWanted = expression ? expression.matcher(url.href).find() : hosts.includes(url.host);
    return isWanted && hasType(url, type);
  };
}

/** Returns whether an address has one of the types: by the type that the document declares, or by its extension. */
function typeMatcher(types: readonly string[] | undefined) {
  if (!types) return () => true;
  const wanted = types.map((type) => type.toLowerCase().replace(/^\./, ''));
  return ({ pathname }: URL, declared: string | undefined) => {
    const extension = /\.([a-z0-9]{1,20})$/i.exec(pathname)?.[1]?.toLowerCase() ?? '';
    const media =
      declared?.split(';', 1)[0]?.trim().toLowerCase() || (extension !== '' && mime.lookup(extension)) || '';
    const others = Object.hasOwn(mime.extensions, media) ? (mime.extensions[media] ?? []) : [];
    return wanted.some((type) => {
      if (type.endsWith('/*')) return media.startsWith(type.slice(0, -1));
      return type.includes('/') ? media === type : extension === type || others.includes(type);
    });
  };
}

/** The most characters of a link's text that are read. */
const MAX_TEXT = 1_000;

/** Reads the links of a page: `a` and `area`, relative to `base`. Reads it piece by piece, without building a tree. */
function readHtmlLinks(html: string, url: string, links: LinkCollector): void {
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
function feedInPieces(parser: Parser, text: string): void {
  for (let at = 0; at < text.length; at += PIECE) parser.write(text.slice(at, at + PIECE));
  parser.end();
}

const MAX_FEED_TEXT = 4_096;
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

type Field = 'title' | 'link' | 'guid';

/**
 * Reads the addresses of a feed's items: RSS 0.9x, 1.0 and 2.0, Atom, and JSON Feed, with their enclosures. Feeds that
 * are not well-formed are read as far as possible. Entities that a document defines are never expanded.
 *
 * @throws NotDerivableError if it is not a feed.
 */
function readFeedLinks(text: string, url: string, links: LinkCollector): void {
  if (/^\s*[{[]/.test(text)) readJsonFeed(text, links);
  else if (!readXmlFeed(text, url, links)) throw notFeed();
}

/** Returns whether the document is a feed. */
function readXmlFeed(text: string, url: string, links: LinkCollector): boolean {
  let root: string | undefined;
  let item: Item | undefined;
  let field: Field | undefined;
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
        field = item && openField(item, { name, attributes, base: bases.at(-1)?.base });
      },
      ontext(piece) {
        if (item && field && item[field].length < MAX_FEED_TEXT) item[field] += piece.slice(0, MAX_FEED_TEXT);
      },
      onclosetag(given, isImplied) {
        // The document ends within the address.
        if (isImplied && item && (field === 'link' || field === 'guid')) item[field] = '';
        if (bases.at(-1)?.depth === depth) bases.pop();
        depth -= 1;
        // The document was cut off.
        if (isImplied && depth === 0) links.stop();
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

/** Adds the address that an element of an item has as an attribute, or returns the field that its text belongs to. */
function openField(
  item: Item,
  { name, attributes, base }: { name: string; attributes: Record<string, string>; base: string | undefined },
): Field | undefined {
  const { href, rel = 'alternate', type, url } = attributes;
  switch (name) {
    case 'title':
      return item.title.trim() === '' ? 'title' : undefined;
    case 'guid':
      return /^false$/i.test(attributes.ispermalink ?? '') ? undefined : 'guid';
    case 'enclosure':
      if (url !== undefined) item.hrefs.push({ href: url, type, base });
      return undefined;
    case 'link':
      if (href === undefined) return item.link.trim() === '' ? 'link' : undefined;
      if (/^(alternate|enclosure)$/i.test(rel)) item.hrefs.push({ href, type, base });
      return undefined;
    default:
      return undefined;
  }
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
  return typeof found === 'string' && found.length <= MAX_FEED_TEXT ? found : undefined;
}

function notFeed(): NotDerivableError {
  return new NotDerivableError('unsupported', 'The newest version is not a feed (RSS, Atom or JSON Feed).');
}

const MAX_ADDRESS = 8_192;

/**
 * Reads the addresses of a sitemap (sitemaps.org): XML, an index of sitemaps, text with one address per line, or a feed.
 *
 * @throws NotDerivableError if it is none of these.
 */
function readSitemapLinks(text: string, url: string, links: LinkCollector): void {
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
        // The document was cut off.
        if (isImplied && open.length === 0) links.stop();
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
