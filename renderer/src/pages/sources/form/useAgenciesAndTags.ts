import { MAX_LIST_LIMIT } from '../../../../../shared/limits.ts';
import { useCall } from '../../../api/useCall.ts';

/** The agencies and tags in use, as suggestions. Only the first page of sources is considered. */
export function useAgenciesAndTags(): { agencies: string[]; tags: string[] } {
  const { data } = useCall('listSources', { query: { limit: MAX_LIST_LIMIT } });
  const sources = data?.items ?? [];
  return {
    agencies: sorted(sources.map(({ agency }) => agency)),
    tags: sorted(sources.flatMap(({ tags }) => tags)),
  };
}

function sorted(values: string[]): string[] {
  return [...new Set(values)].filter(Boolean).sort((left, right) => left.localeCompare(right));
}
