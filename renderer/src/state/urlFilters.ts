import { useCallback, useMemo } from 'react';
import { useSearchParams } from 'react-router';

export type Filters<Name extends string> = Partial<Record<Name, string>>;

export interface UrlFilters<Name extends string> {
  /** The filters that are set and not empty. */
  values: Filters<Name>;
  /** Sets filters; an empty text removes one. The rest of the query is kept, except for `reset`. */
  set: (changes: Filters<Name>) => void;
  clear: () => void;
  isAny: boolean;
}

/**
 * Filters stored in the page's URL, so that a view can be bookmarked and shared. Changes replace the history
 * entry. `reset` names parameters that a new filter invalidates, such as the offset.
 */
export function useUrlFilters<Name extends string>(
  names: readonly Name[],
  reset: readonly string[] = [],
): UrlFilters<Name> {
  const [search, setSearch] = useSearchParams();
  const text = search.toString();
  const values = useMemo(() => {
    const given = new URLSearchParams(text);
    const found: Filters<Name> = {};
    for (const name of names) found[name] = given.get(name) || undefined;
    return found;
  }, [text, names]);
  const set = useCallback(
    (changes: Filters<Name>) =>
      setSearch(
        (before) => {
          const after = new URLSearchParams(before);
          for (const name of reset) after.delete(name);
          for (const [name, value] of Object.entries<string | undefined>(changes)) {
            if (value) after.set(name, value);
            else after.delete(name);
          }
          return after;
        },
        { replace: true },
      ),
    [setSearch, reset],
  );
  const clear = useCallback(
    () => set(Object.fromEntries(names.map((name) => [name, ''])) as Filters<Name>),
    [set, names],
  );
  return { values, set, clear, isAny: Object.values(values).some(Boolean) };
}
