import express, { type Express } from 'express';
import { PROBLEMS } from '../../shared/problems.ts';
import { html } from '../html.ts';
import type { Log } from '../runtime/log.ts';
import { folderAway } from '../store/opening/presence.ts';
import { acceptsHtml } from './delivery/renderer.ts';
import { handleErrors } from './problems.ts';

const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";
/** The page is requested again after this many seconds. */
const REFRESH_SECONDS = 3;

/**
 * Creates the application that answers every request while the disk of the data folder is away. It says only that, so it
 * needs neither the archive nor the guards.
 */
export function createAwayApp(log: Log): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  // It says whether the process is up, and nothing else.
  app.get(
    '/api/health',
    (_request, response) => void response.set('Cache-Control', 'no-store').json({ status: 'up' }),
  );
  app.use((request, response) => {
    const problem = folderAway();
    const isPage = (request.method === 'GET' || request.method === 'HEAD') && acceptsHtml(request);
    if (!isPage) throw problem;
    response
      .status(problem.status)
      .set({
        'Cache-Control': 'no-store',
        'Content-Security-Policy': PAGE_POLICY,
        Refresh: String(REFRESH_SECONDS),
        ...problem.extra.headers,
      })
      .type('text/html')
      .send(awayPage(problem.message));
  });
  app.use(handleErrors(log));
  return app;
}

function awayPage(sentence: string): string {
  const { title } = PROBLEMS.data_folder_away;
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1rem}</style>
<main>
<h1>${title}</h1>
<p>${sentence}</p>
<p>This page tries again every ${REFRESH_SECONDS} seconds.</p>
</main>
</html>
`.text;
}
