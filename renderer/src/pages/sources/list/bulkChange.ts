import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { SourceChange } from '../../../../../shared/collection/source.ts';
import { call } from '../../../api/client.ts';
import { callKey } from '../../../api/useCall.ts';
import type { VisibleSource } from '../useSources.ts';

/** Computes the change of one of the selected sources. */
export type ChangeOf = (source: VisibleSource) => SourceChange;

export type BulkChange = ReturnType<typeof useBulkChange>;

/** Changes the sources one after the other. If one fails, those after it are not changed. */
export function useBulkChange(sources: readonly VisibleSource[]) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (changeOf: ChangeOf) => {
      for (const source of sources)
        await call('changeSource', { params: { id: source.id }, body: changeOf(source) });
    },
    onSettled: () => client.invalidateQueries({ queryKey: callKey('listWatchedSources') }),
  });
}
