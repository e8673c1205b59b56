import { useQueryClient } from '@tanstack/react-query';
import { callKey } from '../../../api/useCall.ts';

/** Returns a function that loads what is shown of the peers again. */
export function useReloadPeers(): () => Promise<unknown> {
  const queries = useQueryClient();
  return () =>
    Promise.all(
      (['listPeers', 'readPeer', 'listNearbyNodes'] as const).map((name) =>
        queries.invalidateQueries({ queryKey: callKey(name) }),
      ),
    );
}
