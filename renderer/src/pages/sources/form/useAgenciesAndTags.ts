import { MAX_LIST_LIMIT } from '../../../../../shared/limits.ts';
import { useCall } from '../../../api/useCall.ts';

export interface AgenciesAndTags {
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
