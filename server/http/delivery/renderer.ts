import { createHash } from 'node:crypto';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import { isDataPath, PAGE_PATHS } from '../../../shared/node/pages.ts';
import { Problem } from '../../../shared/problems.ts';
import { escapeHtml } from '../../html.ts';
import type { PublicAddress } from '../security/addresses.ts';
import type { Guards } from '../security/guards.ts';
import { isFresh } from './ranges.ts';

/** What the node adds to the document of the interface for one page. */
export interface PageDescription {
  /** 404 if the page is about a pack, study, source or event that does not exist. */
  status: 200 | 404;
  /** Elements for the head, as HTML. */
  head: string;
  /** The value of the `Link` header. */
  links?: string;
}

export type DescribePage = (path: string, origin: string) => PageDescription;

/** The built web interface, and what the node adds to its pages. */
export interface Interface {
  /** The folder of the built interface. */
  folder: string;
  /** Returns the HTML document, or undefined if the interface was not built. */
  readDocument: () => string | undefined;
  /** Reads a file of the folder `assets`. */
  readAsset: ReadBuiltFile;
  describePage: DescribePage;
  /** Returns whether a page may contain data of the archive. */
  mayFillPage: Guards['mayFillPage'];
  publicAddress: PublicAddress;
}

/**
 * Serves the web interface: its assets, whose names contain their hash, and the same document for each page. The head of
 * the document describes the page to programs, if the client may read the archive.
 */
export function serveRenderer(config: Interface): RequestHandler {
  const { folder, readDocument, readAsset, describePage, mayFillPage, publicAddress } = config;
  const router = Router({ caseSensitive: true, strict: true });
  router.use('/assets', builtFiles(join(folder, 'assets'), readAsset));
  const requireDocument = () => {
    const document = readDocument();
    if (document === undefined) throw interfaceMissing('Then open this page again.');
    return document;
  };
  router.get([...PAGE_PATHS], (request, response) => {
    const document = requireDocument();
    if (!mayFillPage(request)) return sendPage(request, response, document);
    const { status, head, links } = describePage(request.path, publicAddress.originOf(request));
    if (links !== undefined) response.set('Link', links);
    return sendPage(request, response.status(status), withHead(document, head));
  });
  router.use(express.static(folder, { index: false, redirect: false, maxAge: '1h' }));
  router.use((request, response, next) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isDataPath(request.path) || !isRead || !acceptsHtml(request)) return next();
    sendPage(request, response.status(404), requireDocument());
  });
  return router;
}

/** Sends a page. A browser whose cached copy is current gets 304; a page that does not exist is not cached. */
function sendPage(request: Request, response: Response, html: string): void {
  response.type('text/html');
  if (response.statusCode !== 200) return void response.set('Cache-Control', 'no-store').send(html);
  const etag = `"${createHash('sha256').update(html).digest('base64url')}"`;
  response.set({ 'Cache-Control': 'no-cache', ETag: etag });
  if (isFresh(request, { etag, lastModified: undefined })) response.status(304).end();
  else response.send(html);
}

/** Returns whether the client wants HTML. Browsers get the web interface for an unknown page too, with status 404. */
export function acceptsHtml(request: Request): boolean {
  return (request.headers.accept ?? '').includes('text/html');
}

/** The problem of a checkout without a built interface. Installed packages always contain it. */
export function interfaceMissing(then: string): Problem {
  return new Problem(
    'interface_missing',
    `The web interface was not built. Run “npm run build” in the checkout. ${then}`,
  );
}

/** The names of built scripts and stylesheets, which contain a hash of the content. */
const TEXT_FILE = /^\/[\w.-]+\.(?:m?js|css)$/;
/** Half as large as without compression in a few milliseconds; higher qualities take seconds for the first visitor. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

/** Reads a built file by its path below the folder; undefined if there is none. It may be built later. */
type ReadBuiltFile = (path: string) => Promise<Buffer | undefined>;

const compress = promisify(brotliCompress);

/** The compressed files by their path on disk. The nodes of a process share them, because a name stands for one content. */
const compressed = new Map<string, Buffer>();

/**
 * Serves the built files of the interface, compressed for clients that accept `br`. Each file is compressed once and kept
 * in memory, about a megabyte for all of them: a page consists of several, and every visitor loads the same.
 */
function builtFiles(folder: string, readFile: ReadBuiltFile): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true });
  router.get(TEXT_FILE, async (request, response, next) => {
    const { path } = request;
    const isPlain = request.headers.range !== undefined || request.headers['if-none-match'] !== undefined;
    if (isPlain || request.acceptsEncodings('br') !== 'br') return next();
    const pathOnDisk = join(folder, path);
    const kept = compressed.get(pathOnDisk);
    const body = kept ?? (await compressFile(path, readFile));
    if (!body) return next();
    if (!kept) compressed.set(pathOnDisk, body);
    response.vary('Accept-Encoding').type(extname(path));
    response.set({ 'Cache-Control': 'public, max-age=31536000, immutable', 'Content-Encoding': 'br' });
    response.send(body);
  });
  router.use(express.static(folder, { immutable: true, maxAge: '1y', index: false, redirect: false }));
  return router;
}

async function compressFile(path: string, readFile: ReadBuiltFile): Promise<Buffer | undefined> {
  const content = await readFile(path);
  return content && compress(content, BROTLI);
}

/** The metadata in the head of a page. */
interface PageHead {
  /** The absolute URL of the page. */
  canonical: string;
  /** The path of the Atom feed with the changes that the page shows. */
  feed: string;
  /** The pack or study that the page shows. */
  item?: {
    /** The title of the window. */
    title: string;
    name: string;
    description: string;
    node: string;
    /** A schema.org document. */
    jsonLd: object;
  };
}

/** Search engines show about this many characters. */
const MAX_DESCRIPTION = 300;

/**
 * Returns the elements of a head as HTML. Those about one item have `data-item`, so that the interface can remove them
 * when it shows another page.
 */
export function headHtml({ canonical, feed, item }: PageHead): string {
  const elements = [
    element('link', { rel: 'canonical', href: canonical, 'data-item': '' }),
    element('link', {
      rel: 'alternate',
      type: 'application/atom+xml',
      title: 'Changes to watched sources',
      href: feed,
    }),
  ];
  if (!item) return elements.join('\n    ');
  const description = cut(item.description || item.name, MAX_DESCRIPTION);
  const property = (name: string, content: string) =>
    element('meta', { property: name, content, 'data-item': '' });
  return [
    `<title>${escapeHtml(item.title)}</title>`,
    element('meta', { name: 'description', content: description, 'data-item': '' }),
    property('og:type', 'article'),
    property('og:title', item.name),
    property('og:description', description),
    property('og:url', canonical),
    property('og:site_name', item.node),
    ...elements,
    `<script type="application/ld+json" data-item="">${scriptJson(item.jsonLd)}</script>`,
  ].join('\n    ');
}

/**
 * Inserts a head into the document of the interface. A title in it replaces the document's own title and description.
 */
function withHead(document: string, head: string): string {
  const own = /\s*<title>[^<]*<\/title>|\s*<meta name="description"[^>]*>/g;
  const kept = head.includes('<title>') ? document.replace(own, '') : document;
  const end = kept.search(/<\/head>/i);
  if (end >= 0) return `${kept.slice(0, end)}  ${head}\n  ${kept.slice(end)}`;
  // A document without tags for its head: what comes after the doctype is its head.
  const start = /^\s*<!doctype[^>]*>/i.exec(kept)?.[0].length ?? 0;
  return `${kept.slice(0, start)}${head}${kept.slice(start)}`;
}

function element(name: string, attributes: Readonly<Record<string, string>>): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeHtml(value)}"`);
  return `<${name}${written.join('')} />`;
}

/** A cut never leaves half of a surrogate pair. */
function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

const UNSAFE = /[<>&\u2028\u2029]/g;

/** Returns JSON that cannot end the script element that contains it, or open a comment in it. */
function scriptJson(value: object): string {
  return JSON.stringify(value).replace(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
