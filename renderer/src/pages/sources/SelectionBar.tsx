import { Button, Group } from '@mantine/core';
import {
  IconClock,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconTag,
  IconTrash,
  type TablerIcon,
} from '@tabler/icons-react';
import { useState } from 'react';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { countOf } from '../../format/size.ts';
import { useCollectionRun } from './collectionRun.ts';
import { BulkRemove } from './list/BulkRemove.tsx';
import { BulkSchedule } from './list/BulkSchedule.tsx';
import { BulkTags } from './list/BulkTags.tsx';
import { type ChangeOf, useBulkChange } from './list/bulkChange.ts';
import classes from './SelectionBar.module.css';
import type { VisibleSource } from './useSources.ts';

export interface SelectionBarProps {
  sources: readonly VisibleSource[];
  onClear: () => void;
}

type Dialog = 'tags' | 'schedule' | 'remove';

/** Actions for the selected sources. */
export function SelectionBar({ sources, onClear }: SelectionBarProps) {
  const check = useCollectionRun((run) => run.start);
  const [dialog, setDialog] = useState<Dialog>();
  const change = useBulkChange(sources);
  const what = countOf(sources.length, 'source');
  const close = () => setDialog(undefined);
  const set = (changeOf: ChangeOf) => change.mutate(changeOf, { onSuccess: close });
  return (
    <section className={classes.bar} aria-label="Selected sources">
      <Group gap="xs">
        <span className="numeric">{what} selected</span>
        <Action
          icon={IconRefresh}
          label="Check now"
          isMain
          onClick={() =>
            void check(
              what,
              sources.map(({ id }) => id),
            )
          }
        />
        <Action
          icon={IconPlayerPause}
          label="Pause"
          isBusy={change.isPending}
          onClick={() => set(() => ({ paused: true }))}
        />
        <Action
          icon={IconPlayerPlay}
          label="Resume"
          isBusy={change.isPending}
          onClick={() => set(() => ({ paused: false }))}
        />
        <Action icon={IconTag} label="Tags" onClick={() => setDialog('tags')} />
        <Action icon={IconClock} label="Schedule" onClick={() => setDialog('schedule')} />
        <Action icon={IconTrash} label="Stop watching" onClick={() => setDialog('remove')} />
        <Button size="xs" variant="subtle" onClick={onClear}>
          Clear selection
        </Button>
      </Group>
      {change.isError && !dialog && <ErrorNote error={change.error} />}
      {dialog === 'tags' && <BulkTags sources={sources} change={change} onSet={set} onClose={close} />}
      {dialog === 'schedule' && <BulkSchedule what={what} change={change} onSet={set} onClose={close} />}
      {dialog === 'remove' && <BulkRemove sources={sources} onRemoved={onClear} onClose={close} />}
    </section>
  );
}

interface ActionProps {
  icon: TablerIcon;
  label: string;
  isMain?: boolean;
  isBusy?: boolean;
  onClick: () => void;
}

function Action({ icon: Icon, label, isMain = false, isBusy = false, onClick }: ActionProps) {
  return (
    <Button
      size="xs"
      variant={isMain ? 'filled' : 'default'}
      leftSection={<Icon size={14} aria-hidden />}
      loading={isBusy}
      onClick={onClick}
    >
      {label}
    </Button>
  );
}
