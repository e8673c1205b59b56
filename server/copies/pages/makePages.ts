import { readFile } from 'node:fs/promises';
import { RELEASED_REASON_TEXT, type ReleasedReason } from '../../../shared/node/withheld.ts';
import { Problem } from '../../../shared/problems.ts';
import { findSet } from '../../archive/sets/readSet.ts';
import type { SetIndex } from '../../archive/sets/setIndex.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { type CopyRow, isCopied } from '../../store/sqlite/node/copies.ts';
import {
  countEventsOf,
  countPacksOfStudy,
  eventIdsOfSource,
  lastEventOfLedger,
  placeOfPack,
  placeOfStudy,
} from '../../store/sqlite/node/copyPages.ts';
import type { Store } from '../../store/store.ts';
import { unreadable, VISITOR } from '../../withholding/withholding.ts';
import type { CopyServices } from '../claim.ts';
import type { CopyFiles } from '../copyFiles.ts';
import { eventPage } from './eventPage.ts';
import { type Changes, findChanges } from './findChanges.ts';
import { dayText, type Page, type PageContext } from './frame.ts';
import { packPage, sourcePage, sourcePart, studyPage, studyPart } from './itemPages.ts';
import {
  indexPage,
  LISTS,
  listPage,
  listPart,
  monthPage,
  monthPart,
  monthsOf,
  searchPage,
  timelinePage,
  verifyPage,
} from './listPages.ts';
import {
  feedPage,
  searchManifest,
  searchPart,
  sitemapIndex,
  sitemapPart,
  timelineSitemap,
} from './machinePages.ts';
import {
  changedParts,
  KINDS,
  type Kind,
  NEWEST,
  PAGES_VERSION,
  PART,
  SEARCH_PART,
  SITEMAP_PART,
} from './pagePaths.ts';

/**
 * Makes the pages that differ between two sizes of the ledger, as of the larger one: items first, then the lists that
 * link to them, then the first page. Memory is bounded by the number of items, not of events.
 *
 * @param from the size that the pages in the copy show; 0 makes all pages
 * @param hidden objects whose pages are made in any case
 */
export async function* makePages(
  context: PageContext,
  from: number,
  hidden: AsyncIterable<readonly string[]> = none(),
): AsyncGenerator<Page> {
  const changes = await findChanges(context.database, { from, to: context.size }, hidden);
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

async function* none(): AsyncGenerator<readonly string[]> {}

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

async function* always(context: PageContext, _from: number, make: MakePage): AsyncGenerator<Page> {
  yield await make(context);
}

const ASSETS = [
  ['pages.css', 'text/css; charset=utf-8'],
  ['search.js', 'text/javascript; charset=utf-8'],
  ['verify.js', 'text/javascript; charset=utf-8'],
  ['icon.svg', 'image/svg+xml'],
  ['text.woff2', 'font/woff2'],
  ['serif.woff2', 'font/woff2'],
  ['mono.woff2', 'font/woff2'],
] as const;

/** The style, the fonts and the scripts of the pages. */
async function* assets(): AsyncGenerator<Page> {
  const read = await assetReader();
  for (const [name, type] of ASSETS) yield { path: `assets/${name}`, bytes: await read(name), type };
}

/** After the build, the files are beside the code. Where the sources run, they are built when they are needed. */
async function assetReader(): Promise<(name: string) => Promise<Buffer>> {
  if (!import.meta.url.endsWith('.ts'))
    return (name) => readFile(new URL(`./copy-pages.${name}`, import.meta.url));
  // Not a literal: the build of the server must not contain what builds.
  const builder = new URL('./buildAssets.ts', import.meta.url).href;
  const { readAsset } = (await import(builder)) as typeof import('./buildAssets.ts');
  return readAsset;
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
      ids = eventIdsOfSource(context.database, { source: key, after: from, last: after, limit: BATCH });
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
  for (const id of changes.packs) yield await packPage(context, id);
  for (const id of changes.studies) {
    yield* present(studyPage(context, id));
    const [before, now] = [countPacksOfStudy(database, id, from), countPacksOfStudy(database, id, size)];
    const first = changes.takenFrom.has(id) ? 0 : before;
    for (const part of partsOf(PART.packs, { before, now, first })) yield studyPart(context, id, part);
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
    yield monthPage(context, month);
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
  const taken =
    kind === 'packs' && changes.firstTaken <= from ? placeOfPack(database, changes.firstTaken) : before;
  const first = Math.min(before, taken);
  const added = (length: number) =>
    before === now && first === now ? [] : changedParts(length, { before, now, first });
  // What packs became parts of sets is not known of a smaller ledger, so such lists cannot be compared.
  const make = taken < before ? always : ifChanged;
  const places = changedPlaces(context, kind, changes);
  const parts = (length: number) => [
    ...new Set([...places.map((place) => Math.floor(place / length) + 1), ...added(length)]),
  ];
  for (const part of parts(PART[kind])) yield* make(context, from, (each) => listPart(each, kind, part));
  for (const part of parts(SEARCH_PART)) yield* make(context, from, (each) => searchPart(each, kind, part));
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

/** What the pages are about: the size of the ledger and its signed checkpoint. */
interface PagesRun {
  size: number;
  note: string;
  signal: AbortSignal;
  /** Objects of which the pages may show something that they no longer may. */
  hidden: AsyncIterable<readonly string[]>;
  /** Called with each page that is sent. */
  onPage: (path: string) => void;
}

/** Returns whether a copy has pages that do not show the ledger of this size, or pages that the owner no longer wants. */
export function pagesAreBehind(copy: CopyRow, size: number): boolean {
  return copy.pages === 1
    ? copy.pages_size < size || copy.pages_version !== PAGES_VERSION
    : copy.pages_size > 0;
}

/**
 * Sends the pages that changed since the last sync. They are made from the state of the ledger at `size`, whose objects
 * and records the copy holds already; what was recorded since is not shown. If this is interrupted, the next sync sends
 * the same pages again.
 *
 * If the owner no longer wants pages, they are removed after the next checkpoint.
 *
 * @returns the number of pages sent
 * @throws CopyError; the signal's reason
 */
export async function sendPages(
  services: CopyServices,
  copy: CopyRow,
  files: CopyFiles,
  run: PagesRun,
): Promise<number> {
  if (copy.pages === 0) {
    if (copy.pages_size > 0) await files.removePagesLater();
    return 0;
  }
  const from = copy.pages_version === PAGES_VERSION ? copy.pages_size : 0;
  // Pages that this release does not make are removed.
  if (from === 0) await files.removePagesLater();
  let sent = 0;
  for await (const { path, bytes, type } of makePages(pageContext(services, copy, run), from, run.hidden)) {
    run.signal.throwIfAborted();
    await files.send({ path, payload: { bytes }, type });
    run.onPage(path);
    sent += 1;
  }
  await files.sendBatch();
  return sent;
}

/** Describes what the pages of a copy are made from. */
export function pageContext(
  { store, checkpoints, compare }: CopyServices,
  { id, public_url }: CopyRow,
  { size, note }: Pick<PagesRun, 'size' | 'note'>,
): PageContext {
  return {
    database: store.read,
    node: checkpoints.key.name,
    key: checkpoints.key.verifierKey,
    note,
    size,
    publicUrl: public_url === null ? null : public_url.replace(/\/*$/, '/'),
    compare,
    setOf: (id) => readableSet(store, id),
    holds: (sha256) => isCopied(store.read, id, sha256) && !unreadable(store.read, sha256, VISITOR),
    whyHidden: (sha256) => whyHidden(store.read, sha256),
  };
}

async function readableSet(store: Store, id: string): Promise<SetIndex | undefined> {
  try {
    const set = await findSet(store, id);
    return set && !unreadable(store.read, set.file, VISITOR) ? set.index : undefined;
  } catch (error) {
    // The page says what the copy has of the list.
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** Returns why readers of the pages may not read an object, as a sentence; undefined if they may. */
function whyHidden(database: ReadDatabase, sha256: string): string | undefined {
  const problem = unreadable(database, sha256, VISITOR);
  if (!problem) return undefined;
  if (problem.code === 'not_found') return 'Not in this archive.';
  const { since, reason } = problem.extra.members as { since: string; reason: ReleasedReason };
  const what = problem.code === 'released' ? 'Given up on' : 'Withheld since';
  return `${what} ${dayText(since)}: ${RELEASED_REASON_TEXT[reason]}.`;
}
