import type { Event } from '../../../shared/collection/event.ts';
import { eventTitle } from '../../../shared/collection/eventText.ts';
import { element, escapeXml, type Xml } from '../../harvesting/formats.ts';
import { eventsOf, lastEventOfLedger } from '../../store/sqlite/node/copyPages.ts';
import { JSON_TYPE, type Page, type PageContext, sourceName, textPage } from './frame.ts';
import { LISTS, monthsOf } from './listPages.ts';
import {
  FEED,
  INDEX,
  KINDS,
  type Kind,
  listPath,
  monthPath,
  pagePath,
  SEARCH_PART,
  SITEMAP,
  SITEMAP_PART,
  searchPath,
  sitemapPath,
  TIMELINE,
} from './pagePaths.ts';

const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';
const XML = 'application/xml';
const ATOM = 'application/atom+xml; charset=utf-8';
const ATOM_NAMESPACE = 'http://www.w3.org/2005/Atom';
const SITEMAP_NAMESPACE = 'http://www.sitemaps.org/schemas/sitemap/0.9';
const FEED_EVENTS = 100;
/** Tag URIs (RFC 4151) contain a date on which the name belonged to its owner. */
const TAG_YEAR = '2026';

/** The newest events as an Atom feed (RFC 4287). */
export function feedPage(context: PageContext): Page {
  const { database, size, node, publicUrl } = context;
  const events = eventsOf(
    database,
    { last: lastEventOfLedger(database, size) },
    { limit: FEED_EVENTS, newest: true },
  );
  const address = (path: string) => `${publicUrl ?? ''}${path}`;
  const feed = element('feed', { xmlns: ATOM_NAMESPACE }, [
    element('id', {}, [publicUrl === null ? tagUri(node, FEED) : address(FEED)]),
    element('title', {}, [`Changes to watched sources: ${node}`]),
    element('updated', {}, [events[0]?.observed_at ?? '1970-01-01T00:00:00.000Z']),
    element('author', {}, [element('name', {}, [node])]),
    element('link', { rel: 'self', href: address(FEED), type: 'application/atom+xml' }),
    element('link', { rel: 'alternate', href: address(TIMELINE), type: 'text/html' }),
    ...events.map((event) => feedEntry(context, event)),
  ]);
  return textPage(FEED, `${DECLARATION}${feed.text}\n`, ATOM);
}

function feedEntry(context: PageContext, event: Event): Xml {
  const { node, publicUrl } = context;
  const path = pagePath('events', event.id);
  const { name } = sourceName(context, event.source);
  return element('entry', {}, [
    // With an address, the page's own; else one that does not depend on where the copy is.
    element('id', {}, [publicUrl === null ? tagUri(node, `event/${event.id}`) : publicUrl + path]),
    element('title', {}, [eventTitle(event, name)]),
    element('updated', {}, [event.observed_at]),
    element('published', {}, [event.observed_at]),
    element('link', { rel: 'alternate', href: `${publicUrl ?? ''}${path}`, type: 'text/html' }),
    element('summary', {}, [
      [event.source.url, event.sha256 !== null && `SHA-256 ${event.sha256}`].filter(Boolean).join('\n'),
    ]),
  ]);
}

function tagUri(node: string, name: string): string {
  return `tag:${encodeURI(node.split('/', 1)[0] ?? '')},${TAG_YEAR}:${name}`;
}

const sitemapKinds = [...KINDS, 'events'] as const;
type SitemapKind = (typeof sitemapKinds)[number];

function countPages({ database, size }: PageContext, kind: SitemapKind): number {
  return kind === 'events' ? lastEventOfLedger(database, size) : LISTS[kind].count(database, size);
}

/** The list of sitemaps (https://www.sitemaps.org/protocol.html). Addresses are absolute if the owner named the copy's. */
export function sitemapIndex(context: PageContext): Page {
  const base = context.publicUrl ?? '';
  const parts = sitemapKinds.flatMap((kind) =>
    Array.from({ length: Math.ceil(countPages(context, kind) / SITEMAP_PART) }, (_, index) =>
      sitemapPath(kind, index + 1),
    ),
  );
  const all = [sitemapPath('timeline', 1), ...parts];
  const maps = all.map((path) => element('sitemap', {}, [element('loc', {}, [`${base}${path}`])]));
  return textPage(
    SITEMAP,
    `${DECLARATION}${element('sitemapindex', { xmlns: SITEMAP_NAMESPACE }, maps).text}\n`,
    XML,
  );
}

/** A sitemap of the pages of one kind, in the order of the ledger. */
export function sitemapPart(context: PageContext, kind: SitemapKind, part: number): Page {
  const { database, size } = context;
  const place = { offset: (part - 1) * SITEMAP_PART, limit: SITEMAP_PART };
  const ids =
    kind === 'events'
      ? Array.from(
          { length: Math.min(place.limit, countPages(context, kind) - place.offset) },
          (_, index) => place.offset + index + 1,
        )
      : LISTS[kind].items(database, size, place).map(({ id }) => id);
  return urlSet(
    context,
    sitemapPath(kind, part),
    ids.map((id) => pagePath(kind, id)),
  );
}

/** The sitemap of the first page, the lists and the months. */
export function timelineSitemap(context: PageContext): Page {
  const lists = KINDS.map((kind) => listPath(kind));
  const months = monthsOf(context).map((month) => monthPath(month));
  return urlSet(context, sitemapPath('timeline', 1), [INDEX, ...lists, TIMELINE, ...months]);
}

function urlSet({ publicUrl }: PageContext, path: string, pages: readonly string[]): Page {
  const base = publicUrl ?? '../';
  const urls = pages.map((page) => `<url><loc>${escapeXml(base + page)}</loc></url>\n`).join('');
  return textPage(path, `${DECLARATION}<urlset xmlns="${SITEMAP_NAMESPACE}">\n${urls}</urlset>\n`, XML);
}

/** A part of the search index: an array of items, each with its id, its title and more words. */
export function searchPart({ database, size }: PageContext, kind: Kind, part: number): Page {
  const place = { offset: (part - 1) * SEARCH_PART, limit: SEARCH_PART };
  const items = LISTS[kind].items(database, size, place).map(({ id, title, words }) => [id, title, words]);
  return textPage(searchPath(kind, part), `${JSON.stringify(items)}\n`, JSON_TYPE);
}

/** The number of parts of the search index of each kind. */
export function searchManifest(context: PageContext): Page {
  const parts = KINDS.map((kind) => [kind, Math.ceil(countPages(context, kind) / SEARCH_PART)]);
  return textPage('search/index.json', `${JSON.stringify(Object.fromEntries(parts))}\n`, JSON_TYPE);
}
