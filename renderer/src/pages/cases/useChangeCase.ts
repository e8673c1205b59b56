import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Case, NewCaseItem } from '../../../../shared/findings/case.ts';
import { call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';

interface Change {
  title?: string;
  description?: string;
  items?: NewCaseItem[];
}

/** Changes a case, based on the revision that is shown. If another page changed it, the case is read again. */
export function useChangeCase({ id, revision }: Pick<Case, 'id' | 'revision'>) {
  const queries = useQueryClient();
  const key = callKey('readCase', { params: { id } });
  return useMutation({
    mutationFn: (change: Change) => call('changeCase', { params: { id }, body: { revision, ...change } }),
    onSuccess: async (changed) => {
      queries.setQueryData(key, changed);
      await queries.invalidateQueries({ queryKey: callKey('listCases') });
    },
    onError: () => queries.invalidateQueries({ queryKey: key }),
  });
}
