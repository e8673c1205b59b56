import type { ListedPage, PagesQuery } from '../../../shared/collection/page.ts';
import type { Slice } from '../../../shared/values/list.ts';
import { countPages, listPages } from '../../store/sqlite/collection/pages.ts';
import { onSnapshot } from '../../store/sqlite/engine/queries.ts';
import type { Store } from '../../store/store.ts';

/** Returns a part of the list of page captures, newest first. */
export function listPageCaptures({ read }: Pick<Store, 'read'>, query: PagesQuery): Slice<ListedPage> {
  return onSnapshot(read, () => ({ items: listPages(read, query), total: countPages(read, query) }));
}
