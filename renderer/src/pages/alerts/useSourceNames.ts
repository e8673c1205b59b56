import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import { useCall } from '../../api/useCall.ts';

/** Returns a function that gives the name of a source. Only the first page of sources is known; others show their id. */
export function useSourceNames(enabled: boolean): {
  nameOf: (id: string) => string;
  isLoaded: boolean;
} {
  const { data, isError } = useCall('listSources', { query: { limit: MAX_LIST_LIMIT } }, { enabled });
  const names = new Map(data?.items.map(({ id, name, url }) => [id, name || url]));
  return { nameOf: (id) => names.get(id) ?? id, isLoaded: data !== undefined || isError };
}
