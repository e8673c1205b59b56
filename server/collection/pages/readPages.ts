import type { ListedPage, PageCapture, PagesQuery } from '../../../shared/collection/page.ts';
import { Problem } from '../../../shared/problems.ts';
import { isHttpUrl } from '../../../shared/values/text.ts';
import {
  type AskedAnswer,
  answerNearest,
  type HeldAnswer,
  listPages,
  pageById,
} from '../../store/sqlite/collection/pages.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import { normalizeUrl, sourceIdOf } from '../sources/sources.ts';

/** Returns page captures, newest first, and whether there are older ones. */
export function pagesBefore(
  { read }: Pick<Store, 'read'>,
  { limit, ...query }: PagesQuery,
): { items: ListedPage[]; hasMore: boolean } {
  const items = listPages(read, { ...query, limit: limit + 1 });
  return { items: items.slice(0, limit), hasMore: items.length > limit };
}

export function findPage({ read }: Pick<Store, 'read'>, id: string): PageCapture | undefined {
  return pageById(read, id);
}

/** Returns a page capture. @throws Problem `not_found` */
export function requirePage(store: Pick<Store, 'read'>, id: string): PageCapture {
  const page = findPage(store, id);
  if (!page) throw new Problem('not_found', 'There is no such page capture.');
  return page;
}

/** Returns the answer to a request that is nearest in time; undefined if the archive holds none. */
export function heldAnswers(
  read: ReadDatabase,
  { url: given, ...asked }: Omit<AskedAnswer, 'source'>,
): HeldAnswer | undefined {
  if (!isHttpUrl(given)) return undefined;
  const url = normalizeUrl(given);
  return answerNearest(read, { ...asked, url, source: sourceIdOf(url) });
}
