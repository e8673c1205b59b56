import { join } from 'node:path';
import express, { type Request, type RequestHandler, Router } from 'express';
import { PAGE_PATHS } from '../../shared/pages.ts';

/** Serves the built interface: its files, whose names carry their digest, and one document for each page's address. */
export function serveRenderer(folder: string): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true });
  const document = join(folder, 'index.html');
  router.use(
    '/assets',
    express.static(join(folder, 'assets'), { immutable: true, maxAge: '1y', index: false, redirect: false }),
  );
  router.get([...PAGE_PATHS], (_request, response) => {
    response.set('Cache-Control', 'no-cache').sendFile(document);
  });
  router.use(express.static(folder, { index: false, redirect: false, maxAge: '1h' }));
  router.use((request, response, next) => {
    if (!isPersonLost(request)) return next();
    response.status(404).set('Cache-Control', 'no-store').sendFile(document);
  });
  return router;
}

/** A browser that goes to an address which is no page: the interface says so in words, still with a 404. */
function isPersonLost(request: Request): boolean {
  return (
    request.method === 'GET' &&
    !/^\/(api|archive|manage|memento|timegate|timemap|assets|sign-in)(\/|$)/.test(request.path) &&
    (request.headers.accept ?? '').includes('text/html')
  );
}
