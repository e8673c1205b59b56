import { Checkbox } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Copy } from '../../../../shared/node/copy.ts';
import { call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { PAGES_SENTENCE } from './AddCopy.tsx';

/** Whether the copy has pages for readers. A change starts a sync. */
export function PagesChoice({ copy, place }: { copy: Copy; place: string }) {
  const queries = useQueryClient();
  /** What was just chosen, until the list of copies says the same. */
  const [chosen, setChosen] = useState<boolean>();
  const change = useMutation({
    mutationFn: async (pages: boolean) => {
      const params = { id: copy.id };
      await call('changeCopy', { params, body: { pages } });
      await call('syncCopy', { params });
    },
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: callKey('listCopies') });
      setChosen(undefined);
    },
  });
  return (
    <>
      <Checkbox
        label="Pages for readers"
        aria-label={`Pages for readers: ${place}`}
        description={copy.public_url ?? PAGES_SENTENCE}
        checked={chosen ?? copy.pages}
        disabled={change.isPending}
        onChange={({ currentTarget: { checked } }) => {
          setChosen(checked);
          change.mutate(checked);
        }}
      />
      {change.error && <ErrorNote error={change.error} />}
    </>
  );
}
