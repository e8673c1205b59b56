import type { Source, WatchedSource } from '../../../../shared/collection/source.ts';
import { useCall } from '../../api/useCall.ts';
import { useSession } from '../../state/session.ts';

/** A source as the current visitor may see it. Fields for the owner only are missing for others. */
export type VisibleSource = Source & Partial<WatchedSource>;

/** Scheduled checks continue while the page is open, so it is refreshed. */
const REFRESH_MS = 15_000;

/** A page of sources, with the owner's fields if the owner is signed in. */
export function useSources(query: Record<string, string | number | undefined>) {
  const session = useSession((state) => state.session);
  const options = { keepPrevious: true, refetchInterval: REFRESH_MS };
  const asOwner = useCall('listWatchedSources', { query }, { ...options, enabled: session?.owner === true });
  const asVisitor = useCall('listSources', { query }, { ...options, enabled: session?.owner === false });
  const { data, error, refetch, isPlaceholderData } = session?.owner ? asOwner : asVisitor;
  const items: readonly VisibleSource[] | undefined = data?.items;
  return { items, total: data?.total ?? 0, error, refetch, isStale: isPlaceholderData };
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
