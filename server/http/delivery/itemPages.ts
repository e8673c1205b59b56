import { Problem } from '../../../shared/problems.ts';
import { ROUTES } from '../../../shared/routes.ts';
import { isDigest } from '../../../shared/values/digest.ts';
import { readCitedItem } from '../../archive/citations/readCitedWork.ts';
import { MAX_PARTS, schemaOrgDocument } from '../../archive/citations/schemaOrg.ts';
import { readSignposts } from '../../archive/citations/signposts.ts';
import { readSource } from '../../collection/sources/readSources.ts';
import { readEvent } from '../../collection/timeline/events.ts';
import { requireObject } from '../../collection/timeline/objects.ts';
import { commitScopedCache } from '../../store/commitScopedCache.ts';
import type { Store } from '../../store/store.ts';
import { headHtml } from './pageHead.ts';
import { linkHeader } from './typedLinks.ts';

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

/** The number of pages that are cached, at a few kilobytes each; a pack of many files takes about 50. */
const MAX_CACHED = 100;
const ITEM_PAGE = /^\/(packs|studies|sources|timeline|view)\/([^/]+)$/;
const FEED = ROUTES.readEventFeed.path;

/** Returns a function that describes the pages of the interface to programs. It caches until the next commit. */
export function pageDescriptions(store: Store, nodeName: string): DescribePage {
  const describe = commitScopedCache(store, MAX_CACHED, (key): PageDescription => {
    const [origin = '', path = ''] = key.split('\n');
    return describePage(store, { nodeName, path, origin });
  });
  return (path, origin) => describe(`${origin}\n${path}`);
}

interface Page {
  nodeName: string;
  path: string;
  origin: string;
}

function describePage(store: Store, page: Page): PageDescription {
  const [, kind, id = ''] = ITEM_PAGE.exec(page.path) ?? [];
  const canonical = page.origin + page.path;
  try {
    if (kind === 'packs' || kind === 'studies') return itemPage(store, page, id);
    if (kind === 'sources') {
      readSource(store, id);
      return { status: 200, head: headHtml({ canonical, feed: `${FEED}?source=${id}` }) };
    }
    if (kind === 'timeline') readEvent(store, id);
    if (kind === 'view') requireArchivedObject(store, id);
    return { status: 200, head: headHtml({ canonical, feed: FEED }) };
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return { status: 404, head: '' };
    throw error;
  }
}

/** A page for a digest that is not one does not exist either. */
function requireArchivedObject(store: Store, sha256: string): void {
  if (!isDigest(sha256)) throw new Problem('not_found', 'An object is identified by its SHA-256.');
  requireObject(store.read, sha256);
}

/** @throws Problem `not_found` */
function itemPage(store: Store, { nodeName, path, origin }: Page, id: string): PageDescription {
  // The head of a study describes its first packs. It is read for every page, so a large study must not be read whole.
  const from = { origin, publisher: nodeName };
  const { work, files } = readCitedItem(store.read, id, from, MAX_PARTS);
  const addresses = { pack: `/packs/${id}`, study: `/studies/${id}` };
  if (path !== addresses[work.kind]) throw new Problem('not_found', `There is no page ${path}.`);
  const head = headHtml({
    canonical: work.url,
    feed: FEED,
    item: {
      title: `${work.title} · ${nodeName} · Strongroom`,
      name: work.title,
      description: work.abstract,
      node: nodeName,
      jsonLd: schemaOrgDocument(work, files, origin),
    },
  });
  return { status: 200, head, links: linkHeader(readSignposts(store, id, origin)) };
}
