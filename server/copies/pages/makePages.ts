import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { countEventsOf, eventIdsOfSource, lastEventOfLedger } from '../../store/sqlite/node/pages/events.ts';
import { countPacksOfStudy, placeOfStudy } from '../../store/sqlite/node/pages/items.ts';
import { eventPage } from './eventPage.ts';
import { type Changes, findChanges } from './findChanges.ts';
import { indexPage } from './indexPage.ts';
import { LISTS, listPage, listPart } from './listPages.ts';
import {
  feedPage,
  searchManifest,
  searchPart,
  sitemapIndex,
  sitemapPart,
  timelineSitemap,
} from './machinePages.ts';
import { packPage } from './packPage.ts';
import type { Page, PageContext } from './pageContext.ts';
import { changedParts, KINDS, type Kind, NEWEST, PART, SEARCH_PART, SITEMAP_PART } from './pagePaths.ts';
import { sourcePage, sourcePart } from './sourcePage.ts';
import { studyPage, studyPart } from './studyPage.ts';
import { monthPage, monthPart, monthsOf, timelinePage } from './timelinePages.ts';
import { searchPage, verifyPage } from './toolPages.ts';

/**
 * Makes the pages that differ between two sizes of the ledger, as of the larger one: items first, then the lists that
 * link to them, then the first page. Memory is bounded by the number of items, not of events.
 *
 * @param from the size that the pages in the copy show; 0 makes all pages
 */
export async function* makePages(context: PageContext, from: number): AsyncGenerator<Page> {
  const changes = await findChanges(context.database, { from, to: context.size });
  if (from === 0) {
    yield* assets();
    yield searchPage(context);
  }
  if (from === 0 || changes.hasOtherKey) yield verifyPage(context);
  yield* eventPages(context, changes);
  yield* itemPages(context, changes, from);
  yield* monthPages(context, changes);
  for (const kind of KINDS) yield* listParts(context, kind, changes, from);
  yield* eventSitemaps(context, changes);
  for (const make of OVERVIEWS) yield* ifChanged(context, from, make);
  yield indexPage(context);
}

type MakePage = (context: PageContext) => Page | Promise<Page>;

/** The pages about everything, small enough to be made twice. */
const OVERVIEWS: readonly MakePage[] = [
  ...KINDS.map((kind) => (context: PageContext) => listPage(context, kind)),
  timelinePage,
  timelineSitemap,
  sitemapIndex,
  searchManifest,
  feedPage,
];

/** Yields a page unless it was the same with the smaller ledger. */
async function* ifChanged(context: PageContext, from: number, make: MakePage): AsyncGenerator<Page> {
  const now = await make(context);
  const before = from === 0 ? undefined : await make({ ...context, size: from });
  if (!before?.bytes.equals(now.bytes)) yield now;
}

/** The style sheets that are joined to `assets/pages.css`. */
const STYLES = ['base.css', 'content.css'];
const ASSETS = [
  ['search.js', 'text/javascript; charset=utf-8'],
  ['sha256.js', 'text/javascript; charset=utf-8'],
  ['values.js', 'text/javascript; charset=utf-8'],
  ['verify.js', 'text/javascript; charset=utf-8'],
  ['icon.svg', 'image/svg+xml'],
] as const;

/** The style and the scripts of the pages. After the build, they are beside the code. */
async function* assets(): AsyncGenerator<Page> {
  const beginning = import.meta.url.endsWith('.ts') ? './browser/' : './copy-pages.';
  const read = (name: string) => readFile(fileURLToPath(new URL(beginning + name, import.meta.url)));
  const style = Buffer.concat(await Promise.all(STYLES.map(read)));
  yield { path: 'assets/pages.css', bytes: style, type: 'text/css; charset=utf-8' };
  for (const [name, type] of ASSETS) yield { path: `assets/${name}`, bytes: await read(name), type };
}

const BATCH = 500;

async function* eventPages(context: PageContext, changes: Changes): AsyncGenerator<Page> {
  const { after, last } = changes.events;
  const page = (id: number) => eventPage(context, id);
  for (let id = after + 1; id <= last; id += 1) yield* present(await page(id));
  for (const id of changes.otherEvents) yield* present(await page(id));
  for (const key of changes.renamed) {
    let ids: number[];
    for (let from = 0; ; from = ids.at(-1) ?? 0) {
      ids = eventIdsOfSource(context.database, key, { after: from, last: after, limit: BATCH });
      for (const id of ids) yield* present(await page(id));
      if (ids.length < BATCH) break;
    }
  }
}

function* present(page: Page | undefined): Generator<Page> {
  if (page) yield page;
}

async function* itemPages(context: PageContext, changes: Changes, from: number): AsyncGenerator<Page> {
  const { database, size } = context;
  for (const id of changes.packs) yield packPage(context, id);
  for (const id of changes.studies) {
    yield* present(studyPage(context, id));
    const [before, now] = [countPacksOfStudy(database, id, from), countPacksOfStudy(database, id, size)];
    for (const part of partsOf(PART.packs, { before, now, first: before }))
      yield studyPart(context, id, part);
  }
  for (const key of changes.sources) {
    yield* present(sourcePage(context, key));
    const before = countEventsOf(database, { source_key: key, last: changes.events.after });
    const now = countEventsOf(database, { source_key: key, last: changes.events.last });
    const first = changes.renamed.has(key) ? 0 : firstPlace(context, changes, key, now);
    for (const part of partsOf(PART.events, { before, now, first }))
      yield* present(sourcePart(context, key, part));
  }
}

/** The parts of a list on an item's page. There are none while the page itself shows all of it. */
function partsOf(size: number, change: { before: number; now: number; first: number }): number[] {
  if (change.now <= NEWEST) return [];
  return changedParts(size, change.before <= NEWEST ? { ...change, first: 0 } : change);
}

/** The place of the first new event of a source, or of a month, in the order of their instants. */
function firstPlace({ database }: PageContext, changes: Changes, of: number | string, now: number): number {
  const { last } = changes.events;
  if (typeof of === 'string') {
    const at = changes.months.get(of);
    return at === undefined ? now : countEventsOf(database, { since: of, before: at, last });
  }
  const at = changes.sourceEvents.get(of);
  return at === undefined ? now : countEventsOf(database, { source_key: of, before: at, last });
}

async function* monthPages(context: PageContext, changes: Changes): AsyncGenerator<Page> {
  const { database } = context;
  const { after, last } = changes.events;
  for (const month of monthsOf(context)) {
    const range = { since: month, before: `${month}~` };
    const isRenamed = [...changes.renamed].some(
      (source_key) => countEventsOf(database, { ...range, source_key, last: after }) > 0,
    );
    if (!changes.months.has(month) && !isRenamed) continue;
    const before = countEventsOf(database, { ...range, last: after });
    const now = countEventsOf(database, { ...range, last });
    const first = isRenamed ? 0 : firstPlace(context, changes, month, now);
    for (const part of changedParts(PART.events, { before, now, first }))
      yield monthPart(context, month, part);
    yield await monthPage(context, month);
  }
}

/** The parts of a list, of its search index and of its sitemap. */
async function* listParts(
  context: PageContext,
  kind: Kind,
  changes: Changes,
  from: number,
): AsyncGenerator<Page> {
  const { database, size } = context;
  const { count } = LISTS[kind];
  const [before, now] = [count(database, from), count(database, size)];
  const added = (length: number) =>
    before === now ? [] : changedParts(length, { before, now, first: before });
  const places = changedPlaces(context, kind, changes);
  const parts = (length: number) => [
    ...new Set([...places.map((place) => Math.floor(place / length) + 1), ...added(length)]),
  ];
  for (const part of parts(PART[kind])) yield* ifChanged(context, from, (each) => listPart(each, kind, part));
  for (const part of parts(SEARCH_PART))
    yield* ifChanged(context, from, (each) => searchPart(each, kind, part));
  for (const part of added(SITEMAP_PART)) yield sitemapPart(context, kind, part);
}

/** The places of older items whose entries in a list may have changed. */
function changedPlaces({ database }: PageContext, kind: Kind, changes: Changes): number[] {
  if (kind === 'studies') return [...changes.statuses].map((id) => placeOfStudy(database, id));
  return kind === 'sources' ? [...changes.relisted].map((key) => key - 1) : [];
}

async function* eventSitemaps(context: PageContext, { events }: Changes): AsyncGenerator<Page> {
  if (events.after === events.last) return;
  const change = {
    before: events.after,
    now: lastEventOfLedger(context.database, context.size),
    first: events.after,
  };
  for (const part of changedParts(SITEMAP_PART, change)) yield sitemapPart(context, 'events', part);
}
