import { useSearchParams } from 'react-router';
import { SOURCE_ORDERS } from '../../../../shared/collection/source.ts';

/** Dialogs that the URL can open. */
const DIALOGS = ['add', 'list', 'captures', 'found'] as const;
export type Dialog = (typeof DIALOGS)[number];
/** Failing sources come first unless another order is chosen. */
const FAILING_FIRST = 'state';

/** The order, the offset and the open dialog, all stored in the URL of the page. Visitors have no dialogs. */
export function useSourcesUrl(isOwner: boolean) {
  const [search, setSearch] = useSearchParams();
  const dialog = isOwner ? DIALOGS.find((name) => search.has(name)) : undefined;
  const open = (name?: Dialog) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        for (const other of DIALOGS) after.delete(other);
        if (name) after.set(name, '');
        return after;
      },
      { replace: true },
    );
  const setOffset = (next: number) =>
    setSearch((before) => {
      const after = new URLSearchParams(before);
      after.set('offset', String(next));
      return after;
    });
  const setSort = (next: string) =>
    setSearch((before) => {
      const after = new URLSearchParams(before);
      after.set('sort', next);
      after.delete('offset');
      return after;
    });
  return {
    dialog,
    open,
    offset: offsetIn(search.get('offset')),
    setOffset,
    sort: sortIn(search.get('sort')),
    setSort,
  };
}

function sortIn(text: string | null): string {
  const isKnown = SOURCE_ORDERS.some((order) => order === text?.replace(/^-/, ''));
  return text !== null && isKnown ? text : FAILING_FIRST;
}

function offsetIn(text: string | null): number {
  return text && /^\d{1,9}$/.test(text) ? Number(text) : 0;
}
