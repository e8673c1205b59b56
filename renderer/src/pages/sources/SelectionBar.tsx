import { Button, Group } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay, IconRefresh } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf } from '../../format/size.ts';
import { useCollectionRun } from './collectionRun.ts';
import classes from './SelectionBar.module.css';

export interface SelectionBarProps {
  ids: readonly string[];
  onClear: () => void;
}

/** Bulk actions for the selected sources. */
export function SelectionBar({ ids, onClear }: SelectionBarProps) {
  const check = useCollectionRun((run) => run.start);
  const client = useQueryClient();
  const pause = useMutation({
    mutationFn: async (paused: boolean) => {
      for (const id of ids) await call('changeSource', { params: { id }, body: { paused } });
    },
    onSettled: () => client.invalidateQueries({ queryKey: callKey('listWatchedSources') }),
  });
  const what = countOf(ids.length, 'source');
  return (
    <div className={classes.bar}>
      <Group gap="xs">
        <span className="numeric">{what} selected</span>
        <Button
          size="xs"
          leftSection={<IconRefresh size={14} aria-hidden />}
          onClick={() => void check(what, ids)}
        >
          Check now
        </Button>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconPlayerPause size={14} aria-hidden />}
          loading={pause.isPending}
          onClick={() => pause.mutate(true)}
        >
          Pause
        </Button>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconPlayerPlay size={14} aria-hidden />}
          loading={pause.isPending}
          onClick={() => pause.mutate(false)}
        >
          Resume
        </Button>
        <Button size="xs" variant="subtle" onClick={onClear}>
          Clear selection
        </Button>
      </Group>
      {pause.isError && <ErrorNote error={pause.error} />}
    </div>
  );
}
