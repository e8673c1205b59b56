import { createHash } from 'node:crypto';
import { join } from 'node:path';
import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import { isDataPath, PAGE_PATHS } from '../../../shared/node/pages.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Guards } from '../security/guards.ts';
import type { PublicAddress } from '../security/publicAddress.ts';
import { builtFiles, type ReadBuiltFile } from './builtFiles.ts';
import { isFresh } from './conditions.ts';
import type { DescribePage } from './itemPages.ts';
import { withHead } from './pageHead.ts';

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
