import { join } from 'node:path';
import express, { type Request, type RequestHandler, Router } from 'express';
import { isDataPath, PAGE_PATHS } from '../../../shared/node/pages.ts';
import { Problem } from '../../../shared/problems.ts';

/** Serves the built web interface: its assets, whose names contain their hash, and the same document for each page. */
export function serveRenderer(folder: string, hasInterface: () => boolean): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true });
  const document = join(folder, 'index.html');
  router.use(
    '/assets',
    express.static(join(folder, 'assets'), { immutable: true, maxAge: '1y', index: false, redirect: false }),
  );
  const requireInterface = () => {
    if (!hasInterface()) throw interfaceMissing('Then open this page again.');
  };
  router.get([...PAGE_PATHS], (_request, response) => {
    requireInterface();
    response.set('Cache-Control', 'no-cache').sendFile(document);
  });
  router.use(express.static(folder, { index: false, redirect: false, maxAge: '1h' }));
  router.use((request, response, next) => {
    if (isDataPath(request.path) || request.method !== 'GET' || !acceptsHtml(request)) return next();
    requireInterface();
    response.status(404).set('Cache-Control', 'no-store').sendFile(document);
  });
  return router;
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
