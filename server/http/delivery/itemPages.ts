import { Problem } from '../../../shared/problems.ts';
import { ROUTES } from '../../../shared/routes.ts';
import { isDigest } from '../../../shared/values/digest.ts';
import { readCitedItem } from '../../citations/citedWork.ts';
import { MAX_PARTS, schemaOrgDocument } from '../../citations/jsonFormats.ts';
import { type LinkContext, readSignposts, type TypedLink } from '../../citations/signposts.ts';
import { requirePage } from '../../collection/pages/readPages.ts';
import { readSource } from '../../collection/sources/sources.ts';
import { readEvent } from '../../collection/timeline/events.ts';
import { requireObject } from '../../collection/timeline/objects.ts';
import type { Store } from '../../store/store.ts';
import { type DescribePage, headHtml, type PageDescription } from './renderer.ts';

/** The number of pages that are cached, at a few kilobytes each; a pack of many files takes about 50. */
const MAX_CACHED = 100;
const ITEM_PAGE = /^\/(packs|studies|sources|timeline|view|pages)\/([^/]+)$/;
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
    if (kind === 'pages') requirePage(store, id);
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
  if (work.url !== origin + path) throw new Problem('not_found', `There is no page ${path}.`);
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

/** Proxies refuse responses with long headers; nginx reads 4 KiB or 8 KiB of them. */
const MAX_HEADER = 3_000;

/**
 * Returns the value of a `Link` header (RFC 8288), of at most `MAX_HEADER` characters. A relation type that does not fit
 * is omitted with all its links. Pass the most important types first.
 */
export function linkHeader(links: readonly TypedLink[]): string {
  const written: string[] = [];
  let length = 0;
  for (const group of Map.groupBy(links, ({ rel }) => rel).values()) {
    const texts = group.map((link) => linkText(link));
    const added = texts.join(', ').length + 2;
    if (length + added > MAX_HEADER) continue;
    written.push(...texts);
    length += added;
  }
  return written.join(', ');
}

/** Returns a linkset as `application/linkset` (RFC 9264, section 4.1). */
export function linksetText(contexts: readonly LinkContext[]): string {
  const texts = contexts.flatMap(({ anchor, links }) => links.map((link) => linkText(link, anchor)));
  return `${texts.join(',\n')}\n`;
}

/** Returns a linkset as `application/linkset+json` (RFC 9264, section 4.2). */
export function linksetJson(contexts: readonly LinkContext[]): object {
  const linkset = contexts.map(({ anchor, links }) => {
    const byRel = Map.groupBy(links, ({ rel }) => rel);
    const targets = [...byRel].map(([rel, group]) => [rel, group.map(({ rel: _rel, ...target }) => target)]);
    return { anchor, ...(Object.fromEntries(targets) as object) };
  });
  return { linkset };
}

/** Characters that would end a link and begin another. */
const UNSAFE_IN_LINK = /[<>"\s\\^`{|}]/g;

function linkText({ href, rel, type }: TypedLink, anchor?: string): string {
  const encoded = (url: string) => url.replace(UNSAFE_IN_LINK, encodeURIComponent);
  const parameters = { rel, type, anchor: anchor === undefined ? undefined : encoded(anchor) };
  const written = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return [
    `<${encoded(href)}>`,
    ...written.map(([name, value]) => `${name}="${String(value).replace(/["\\]/g, '\\$&')}"`),
  ].join('; ');
}

/**
 * Caches lookups in committed data. Every commit clears the whole cache, so no entry needs to know what it depends on.
 * A hit saves the system calls for locks that each SQLite query makes.
 *
 * @param look reads through `store.read`. It is synchronous, so no commit can come between the read and the caching.
 * Errors are not cached.
 * @param most the maximum number of entries; the oldest is evicted first.
 */
function commitScopedCache<Found extends object>(
  { onCommit }: Pick<Store, 'onCommit'>,
  most: number,
  look: (key: string) => Found,
): (key: string) => Found {
  const cache = new Map<string, Found>();
  onCommit(() => cache.clear());
  return (key) => {
    const cached = cache.get(key);
    if (cached !== undefined) return cached;
    const found = look(key);
    cache.set(key, found);
    if (cache.size > most) cache.delete(cache.keys().next().value ?? '');
    return found;
  };
}
