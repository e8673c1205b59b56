import { join } from 'node:path';
import express, { type RequestHandler, Router } from 'express';
import { PAGE_PATHS } from '../../shared/pages.ts';

/** Serves the built interface: its files, whose names carry their digest, and one document for each page's address. */
export function serveRenderer(folder: string): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true });
  router.use(
    '/assets',
    express.static(join(folder, 'assets'), { immutable: true, maxAge: '1y', index: false, redirect: false }),
  );
  router.get([...PAGE_PATHS], (_request, response) => {
    response.set('Cache-Control', 'no-cache').sendFile(join(folder, 'index.html'));
  });
  router.use(express.static(folder, { index: false, redirect: false, maxAge: '1h' }));
  return router;
}
