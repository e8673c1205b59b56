import type { UseQueryResult } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useSearchParams } from 'react-router';
import { SOURCE_ORDERS, type Source, type WatchedSource } from '../../../../shared/collection/source.ts';
import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import { useCall } from '../../api/useCall.ts';
import { useSession } from '../../state/session.ts';

/** A source as the current visitor may see it. Fields for the owner only are missing for others. */
export type VisibleSource = Source & Partial<WatchedSource>;

/** Scheduled checks continue while the page is open, so it is refreshed. */
const REFRESH_MS = 15_000;

/** A page of sources, with the owner's fields if the owner is signed in. */
export function useSources(
  query: Record<string, string | number | undefined>,
): UseQueryResult<{ items: VisibleSource[]; total: number }> {
  const session = useSession((state) => state.session);
  const options = { keepPrevious: true, refetchInterval: REFRESH_MS };
  const asOwner = useCall('listWatchedSources', { query }, { ...options, enabled: session?.owner === true });
  const asVisitor = useCall('listSources', { query }, { ...options, enabled: session?.owner === false });
  return session?.owner ? asOwner : asVisitor;
}

/** One source; `watched` is set for the owner only. */
export function useSource(id: string) {
  const session = useSession((state) => state.session);
  const options = { refetchInterval: REFRESH_MS };
  const asOwner = useCall(
    'readWatchedSource',
    { params: { id } },
    { ...options, enabled: session?.owner === true },
  );
  const asVisitor = useCall(
    'readSource',
    { params: { id } },
    { ...options, enabled: session?.owner === false },
  );
  const { error, refetch } = session?.owner ? asOwner : asVisitor;
  const source: VisibleSource | undefined = session?.owner ? asOwner.data : asVisitor.data;
  return { source, watched: asOwner.data, error, refetch };
}

/** Dialogs that the URL can open. */
const DIALOGS = ['add', 'list', 'captures', 'found', 'page'] as const;
export type Dialog = (typeof DIALOGS)[number];
/** Failing sources come first unless another order is chosen. */
const FAILING_FIRST = 'state';

/** The order and the open dialog, all stored in the URL of the page. Visitors have no dialogs. */
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
  const setSort = (next: string) =>
    setSearch((before) => {
      const after = new URLSearchParams(before);
      after.set('sort', next);
      after.delete('offset');
      return after;
    });
  return { dialog, open, sort: sortIn(search.get('sort')), setSort };
}

function sortIn(text: string | null): string {
  const isKnown = SOURCE_ORDERS.some((order) => order === text?.replace(/^-/, ''));
  return text !== null && isKnown ? text : FAILING_FIRST;
}

export interface Selection {
  /** The selected ids in the order of the list. Rows that left the page are not selected. */
  ids: readonly string[];
  has: (id: string) => boolean;
  /** Selects or deselects a row; with `isRange`, all rows from the last one that was clicked. */
  toggle: (id: string, isSelected: boolean, isRange: boolean) => void;
  setAll: (isSelected: boolean) => void;
  clear: () => void;
}

/** The selected rows of a list. */
export function useSelection(shown: readonly string[]): Selection {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const anchor = useRef<string | undefined>(undefined);
  return {
    ids: shown.filter((id) => selected.has(id)),
    has: (id) => selected.has(id),
    toggle: (id, isSelected, isRange) => {
      const [from, to] = [shown.indexOf(anchor.current ?? id), shown.indexOf(id)];
      const range = isRange && from >= 0 ? shown.slice(Math.min(from, to), Math.max(from, to) + 1) : [id];
      const next = new Set(selected);
      for (const each of range) {
        if (isSelected) next.add(each);
        else next.delete(each);
      }
      anchor.current = id;
      setSelected(next);
    },
    setAll: (isSelected) => setSelected(new Set(isSelected ? shown : [])),
    clear: () => setSelected(new Set()),
  };
}

interface AgenciesAndTags {
  agencies: string[];
  tags: string[];
  isLoaded: boolean;
}

/**
 * The agencies and tags in use, as suggestions. Only the first page of sources is considered.
 *
 * @param enabled whether to request them; a long list of sources is read for them
 */
export function useAgenciesAndTags(enabled = true): AgenciesAndTags {
  const { data } = useCall('listSources', { query: { limit: MAX_LIST_LIMIT } }, { enabled });
  const sources = data?.items ?? [];
  return {
    isLoaded: data !== undefined,
    agencies: sorted(sources.map(({ agency }) => agency)),
    tags: sorted(sources.flatMap(({ tags }) => tags)),
  };
}

function sorted(values: string[]): string[] {
  return [...new Set(values)].filter(Boolean).sort((left, right) => left.localeCompare(right));
}
