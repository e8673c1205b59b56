import { Button, Group, Stack, TagsInput } from '@mantine/core';
import {
  IconBrowser,
  IconClock,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconTag,
  IconTrash,
  type TablerIcon,
} from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { CaptureMode, SourceChange } from '../../../../shared/collection/source.ts';
import { call } from '../../api/client.ts';
import { useReload } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { DialogButtons, OpenModal } from '../../components/forms/DialogForm.tsx';
import { ChoiceCards } from '../../components/forms/pickers.tsx';
import { countOf } from '../../format.ts';
import { useCollectionRun } from './runs.ts';
import { ScheduleFields } from './ScheduleFields.tsx';
import { StopWatching } from './SourceActions.tsx';
import { CAPTURE_CHOICES } from './SourceFields.tsx';
import {
  changeOf,
  type DraftErrors,
  EMPTY_DRAFT,
  EMPTY_SCHEDULE,
  errorsOf,
  scheduleOf,
} from './sourceForm.ts';
import { useAgenciesAndTags, type VisibleSource } from './useSources.ts';

interface SelectionBarProps {
  sources: readonly VisibleSource[];
  onClear: () => void;
}

type Dialog = 'tags' | 'schedule' | 'capture' | 'remove';

/** Actions for the selected sources. */
export function SelectionBar({ sources, onClear }: SelectionBarProps) {
  const check = useCollectionRun((run) => run.start);
  const [dialog, setDialog] = useState<Dialog>();
  const change = useBulkChange(sources);
  const what = countOf(sources.length, 'source');
  const close = () => setDialog(undefined);
  const set = (changeOf: ChangeOf) => change.mutate(changeOf, { onSuccess: close });
  return (
    <section className="hint mb-3 stack gap-2 compact" aria-label="Selected sources">
      <Group gap="xs">
        <span className="numeric">{what} selected</span>
        <Action
          icon={IconRefresh}
          label="Check now"
          isMain
          onClick={() => void check({ what, ids: sources.map(({ id }) => id) })}
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
        <Action icon={IconBrowser} label="What is kept" onClick={() => setDialog('capture')} />
        <Action icon={IconTrash} label="Stop watching" onClick={() => setDialog('remove')} />
        <Button size="xs" variant="subtle" onClick={onClear}>
          Clear selection
        </Button>
      </Group>
      {change.isError && !dialog && <ErrorNote error={change.error} />}
      {dialog === 'tags' && <BulkTags sources={sources} change={change} onSet={set} onClose={close} />}
      {dialog === 'schedule' && <BulkSchedule what={what} change={change} onSet={set} onClose={close} />}
      {dialog === 'capture' && <BulkCapture sources={sources} change={change} onSet={set} onClose={close} />}
      {dialog === 'remove' && <StopWatching sources={sources} onStopped={onClear} onClose={close} />}
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

interface BulkTagsProps {
  sources: readonly VisibleSource[];
  change: BulkChange;
  onSet: (changeOf: ChangeOf) => void;
  onClose: () => void;
}

/** Adds tags to the selected sources and removes tags from them. */
function BulkTags({ sources, change, onSet, onClose }: BulkTagsProps) {
  const { tags } = useAgenciesAndTags();
  const [added, setAdded] = useState<string[]>([]);
  const [removed, setRemoved] = useState<string[]>([]);
  const present = [...new Set(sources.flatMap((source) => source.tags))].sort();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSet((source) => ({
      tags: [...new Set([...source.tags.filter((tag) => !removed.includes(tag)), ...added])],
    }));
  };
  return (
    <OpenModal onClose={onClose} title={`Tags of ${countOf(sources.length, 'source')}`}>
      <form onSubmit={submit} noValidate>
        <Stack gap="md">
          <TagsInput
            label="Add tags"
            description="Press Enter after each tag."
            data={tags}
            value={added}
            onChange={setAdded}
            data-autofocus
          />
          {present.length > 0 && (
            <TagsInput
              label="Remove tags"
              description={`Present: ${present.join(', ')}.`}
              data={present}
              value={removed}
              onChange={(chosen) => setRemoved(chosen.filter((tag) => present.includes(tag)))}
            />
          )}
          {change.isError && <ErrorNote error={change.error} />}
          <DialogButtons
            submit="Save"
            isPending={change.isPending}
            isDisabled={added.length + removed.length === 0}
            onCancel={onClose}
          />
        </Stack>
      </form>
    </OpenModal>
  );
}

interface BulkScheduleProps {
  /** `3 sources` */
  what: string;
  change: BulkChange;
  onSet: (changeOf: ChangeOf) => void;
  onClose: () => void;
}

/** Sets when the selected sources are checked. */
function BulkSchedule({ what, change, onSet, onClose }: BulkScheduleProps) {
  const [draft, setDraft] = useState(EMPTY_SCHEDULE);
  const [errors, setErrors] = useState<DraftErrors>({});
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = changeOf({ ...EMPTY_DRAFT, ...draft });
    setErrors('errors' in parsed ? parsed.errors : {});
    if ('value' in parsed) onSet(() => scheduleOf(draft));
  };
  const shown = change.isError ? { ...errorsOf(change.error), ...errors } : errors;
  return (
    <OpenModal onClose={onClose} title={`Schedule of ${what}`}>
      <form onSubmit={submit} noValidate>
        <Stack gap="md">
          <ScheduleFields
            draft={draft}
            errors={shown}
            onChange={(next) => setDraft((before) => ({ ...before, ...next }))}
          />
          {change.isError && Object.keys(shown).length === 0 && <ErrorNote error={change.error} />}
          <DialogButtons submit="Save" isPending={change.isPending} onCancel={onClose} />
        </Stack>
      </form>
    </OpenModal>
  );
}

/** Sets what is kept of the selected sources. */
function BulkCapture({ sources, change, onSet, onClose }: BulkTagsProps) {
  const [first] = sources;
  const isOne = sources.every(({ capture }) => capture === first?.capture);
  const [chosen, setChosen] = useState<CaptureMode | null>(isOne ? (first?.capture ?? null) : null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // Pictures are reported of pages only.
    if (chosen !== null)
      onSet(() => ({ capture: chosen, ...(chosen === 'object' && { picture_events: null }) }));
  };
  return (
    <OpenModal onClose={onClose} title={`What is kept for ${countOf(sources.length, 'source')}`} size="lg">
      <form onSubmit={submit} noValidate>
        <Stack gap="md">
          <ChoiceCards
            label="What is kept"
            choices={CAPTURE_CHOICES}
            value={chosen}
            onChange={(next) => setChosen(next)}
          />
          {change.isError && <ErrorNote error={change.error} />}
          <DialogButtons
            submit="Save"
            isPending={change.isPending}
            isDisabled={chosen === null}
            onCancel={onClose}
          />
        </Stack>
      </form>
    </OpenModal>
  );
}

/** Computes the change of one of the selected sources. */
type ChangeOf = (source: VisibleSource) => SourceChange;

type BulkChange = ReturnType<typeof useBulkChange>;

/** Changes the sources one after the other. If one fails, those after it are not changed. */
function useBulkChange(sources: readonly VisibleSource[]) {
  const reload = useReload();
  return useMutation({
    mutationFn: async (changeOf: ChangeOf) => {
      for (const source of sources)
        await call('changeSource', { params: { id: source.id }, body: changeOf(source) });
    },
    onSettled: () => reload('changeSource'),
  });
}
