/** The paths of the pages in a copy. `docs/static-archive.md` documents them. */

/** Increased when the design of the pages or their comparisons change. The next sync then writes all of them again. */
export const PAGES_VERSION = 7;

/** The number of items in one part of a list. A part never changes its first item, so new items change the last part only. */
export const PART = {
  packs: 100,
  studies: 100,
  sources: 100,
  /** Events of a month, and of a source. */
  events: 200,
} as const;
/** The newest items that the first page of a list shows. */
export const NEWEST = 50;
/** Items in one file of the search index, and addresses in one sitemap. */
export const SEARCH_PART = 500;
export const SITEMAP_PART = 2_000;

export const INDEX = 'index.html';
export const TIMELINE = 'timeline.html';
export const SEARCH = 'search.html';
export const VERIFY = 'verify.html';
export const FEED = 'events.atom';
export const SITEMAP = 'sitemap.xml';

/** The kinds of items that have lists. */
export const KINDS = ['packs', 'studies', 'sources'] as const;
export type Kind = (typeof KINDS)[number];

/** The folders that hold nothing but pages, and the files beside them. */
export const PAGE_FOLDERS = [
  'packs/',
  'studies/',
  'sources/',
  'events/',
  'timeline/',
  'search/',
  'sitemap/',
  'assets/',
];
export const PAGE_FILES = [
  ...KINDS.map((kind) => `${kind}.html`),
  TIMELINE,
  SEARCH,
  VERIFY,
  FEED,
  SITEMAP,
  INDEX,
];

/** The page of a pack, a study, a source or an event. */
export function pagePath(kind: Kind | 'events', id: string | number): string {
  return `${kind}/${id}.html`;
}

/** The first page of a list, and one of its parts, counted from 1 for the oldest. */
export function listPath(kind: Kind, part?: number): string {
  return part === undefined ? `${kind}.html` : `${kind}/list-${part}.html`;
}

/** An older part of the list on an item's page: the events of a source, the packs of a study. */
export function partPath(kind: Kind, id: string, part: number): string {
  return `${kind}/${id}/${part}.html`;
}

/** @param month such as `2026-11` */
export function monthPath(month: string, part?: number): string {
  return part === undefined ? `timeline/${month}.html` : `timeline/${month}/${part}.html`;
}

export function searchPath(kind: Kind, part: number): string {
  return `search/${kind}-${part}.json`;
}

export function sitemapPath(kind: Kind | 'events' | 'timeline', part: number): string {
  return `sitemap/${kind}-${part}.xml`;
}

/** The relative path from a page to the top folder: empty, or `../` for each folder. */
export function rootFrom(path: string): string {
  return '../'.repeat(path.split('/').length - 1);
}

/**
 * Returns the parts of a list that must be written, counted from 1.
 *
 * @param before the number of items that the list had
 * @param now the number of items that it has
 * @param first the place of the first new or changed item, counted from 0
 */
export function changedParts(size: number, { before, now, first }: ListChange): number[] {
  const parts = new Set<number>();
  const had = Math.ceil(before / size);
  const has = Math.ceil(now / size);
  // It gets a link to the next part.
  if (has > had && had > 0) parts.add(had);
  for (let part = Math.floor(first / size) + 1; part <= has; part += 1) parts.add(part);
  return [...parts].sort((left, right) => left - right);
}

export interface ListChange {
  before: number;
  now: number;
  first: number;
}
