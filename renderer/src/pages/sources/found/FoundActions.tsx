import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ChosenLinks } from '../../../../../shared/collection/follow.ts';
import { call } from '../../../api/client.ts';
import { callKey } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import classes from './FoundList.module.css';

export interface FoundActionsProps {
  /** The ids of the chosen addresses; if there are none, the buttons act on all that wait. */
  chosen: readonly string[];
  source: string | undefined;
  selectAll: ReactNode;
  onDone: () => void;
}

/** Approves or refuses addresses that wait. */
export function FoundActions({ chosen, source, selectAll, onDone }: FoundActionsProps) {
  const client = useQueryClient();
  const decide = useMutation({
    mutationFn: async (verb: 'approve' | 'refuse') => {
      const body: ChosenLinks =
        chosen.length > 0 ? { ids: [...chosen] } : { all: true, ...(source !== undefined && { source }) };
      await (verb === 'approve' ? call('approveFound', { body }) : call('refuseFound', { body }));
    },
    onSuccess: onDone,
    onSettled: () =>
      Promise.all(
        (['listFound', 'listWatchedSources', 'readWatchedSource'] as const).map((name) =>
          client.invalidateQueries({ queryKey: callKey(name) }),
        ),
      ),
  });
  const which = chosen.length > 0 ? 'selected' : 'all';
  return (
    <>
      <div className={classes.bar}>
        {selectAll}
        <Button size="xs" loading={decide.isPending} onClick={() => decide.mutate('approve')}>
          Approve {which}
        </Button>
        <Button
          size="xs"
          variant="default"
          disabled={decide.isPending}
          onClick={() => decide.mutate('refuse')}
        >
          Refuse {which}
        </Button>
      </div>
      {decide.isError && <ErrorNote error={decide.error} />}
    </>
  );
}
