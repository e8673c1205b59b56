import type { PageCache } from '../../../collection/view/pageCache.ts';
import { pageResources, readArchivedPage, readObjectView } from '../../../collection/view/readView.ts';
import type { Store } from '../../../store/store.ts';
import type { Handlers } from '../../app.ts';
import { ok } from '../../reply.ts';

/**
 * The policy of an archived page. Everything that it shows is in it, so it may load nothing. The sandbox gives it an
 * origin of its own; a click on one of its links, which lead to the interface only, may open it in the whole window.
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'font-src data:',
  'media-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
  'sandbox allow-top-navigation-by-user-activation',
].join('; ');

const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': PAGE_POLICY,
  'X-Frame-Options': 'SAMEORIGIN',
  // Captures may be added. Images do not get smaller by compression.
  'Cache-Control': 'no-store, no-transform',
};

/** Handlers that show archived objects. */
export function viewHandlers(
  store: Store,
  pages: PageCache,
): Pick<Handlers, 'readObjectView' | 'readArchivedPage' | 'readPageResources'> {
  return {
    readObjectView: async ({ params: { sha256 = '' }, query }) =>
      ok(await readObjectView(store, sha256, query)),
    readArchivedPage: async ({ params: { sha256 = '' }, query }) => {
      const { html } = await readArchivedPage(store, pages, { sha256, query });
      return { write: (response) => void response.set(PAGE_HEADERS).send(Buffer.from(html)) };
    },
    readPageResources: async ({ params: { sha256 = '' }, query }) =>
      ok(pageResources(sha256, await readArchivedPage(store, pages, { sha256, query }))),
  };
}
