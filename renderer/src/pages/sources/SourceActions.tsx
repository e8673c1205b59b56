import { Button, Group, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import {
  IconBell,
  IconPencil,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconTrash,
} from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useLayoutEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import type { SourceChange, WatchedSource } from '../../../../shared/collection/source.ts';
import { call } from '../../api/client.ts';
import { useReload, useSave } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { IconButton, IconLink } from '../../components/forms/buttons.tsx';
import {
  DialogButtons,
  FormDialog,
  OpenModal,
  useEdits,
  useFormDialog,
} from '../../components/forms/DialogForm.tsx';
import { useUrlFilters } from '../../components/forms/filters.tsx';
import { countOf } from '../../format.ts';
import {
  type NoiseErrors,
  NoiseFields,
  NoisePreviewPanel,
  ruleErrorsOf,
  rulesOf,
  type TypedRule,
  typedRules,
} from './NoiseFields.tsx';
import { useCollectionRun, useNoiseRun } from './runs.ts';
import { SourceFields } from './SourceFields.tsx';
import { changeOf, type DraftErrors, draftOf, errorsOf, watchDraftOf, watchOf } from './sourceForm.ts';
import type { VisibleSource } from './useSources.ts';
import type { ChoosePlace } from './WatchFields.tsx';

/** The parameter of the address that opens the form with the choice of a part: in the `page`, or in the `picture`. */
const CHOOSE = ['choose'] as const;
const PLACES: readonly ChoosePlace[] = ['page', 'picture'];

/** The owner's actions for one source. */
export function SourceActions({ source }: { source: WatchedSource }) {
  const { start, isStarting } = useCollectionRun();
  const navigate = useNavigate();
  const { values, set } = useUrlFilters(CHOOSE);
  const choose = PLACES.find((place) => place === values.choose);
  const [isEditing, editing] = useDisclosure(choose !== undefined);
  const [isRemoving, removing] = useDisclosure(false);
  const pause = useSave('changeSource', (paused: boolean) => ({
    params: { id: source.id },
    body: { paused },
  }));
  return (
    <>
      <Button
        leftSection={<IconRefresh size={16} aria-hidden />}
        loading={isStarting}
        onClick={() => void start({ what: source.name || source.url, ids: [source.id] })}
      >
        Check now
      </Button>
      <Button
        variant="default"
        leftSection={
          source.paused ? <IconPlayerPlay size={16} aria-hidden /> : <IconPlayerPause size={16} aria-hidden />
        }
        loading={pause.isPending}
        onClick={() => pause.mutate(!source.paused)}
      >
        {source.paused ? 'Resume' : 'Pause'}
      </Button>
      <IconLink icon={IconBell} to={`/alerts?source=${source.id}`}>
        Alert me
      </IconLink>
      <IconButton icon={IconPencil} onClick={editing.open}>
        Edit
      </IconButton>
      <IconButton icon={IconTrash} onClick={removing.open}>
        Stop watching
      </IconButton>
      {pause.isError && <ErrorNote error={pause.error} />}
      <FormDialog
        opened={isEditing}
        onClose={() => {
          editing.close();
          set({ choose: '' });
        }}
        title="Edit source"
        size="xl"
      >
        <EditSourceForm source={source} choose={choose} />
      </FormDialog>
      {isRemoving && (
        <StopWatching
          sources={[source]}
          onStopped={() => void navigate('/sources')}
          onClose={removing.close}
        />
      )}
    </>
  );
}

interface EditSourceFormProps {
  source: WatchedSource;
  /** Where the watched part is chosen at once. */
  choose: ChoosePlace | undefined;
}

/** Edits a source's settings. Its URL identifies it and cannot change. */
function EditSourceForm({ source, choose }: EditSourceFormProps) {
  const { onDone, onCancel, onCovered } = useFormDialog();
  const [draft, setDraft] = useState(() => draftOf(source));
  const [errors, setErrors] = useState<DraftErrors>({});
  const [rules, setRules] = useState<readonly TypedRule[]>(() => typedRules(source.noise_rules));
  const [ruleErrors, setRuleErrors] = useState<NoiseErrors>({});
  const [place, setPlace] = useState(choose);
  /** How often a part was chosen by clicking. Each time, it is previewed. */
  const [chosen, setChosen] = useState(0);
  useLayoutEffect(() => onCovered(place !== undefined), [place, onCovered]);
  const offerRun = useNoiseRun((state) => state.offer);
  const save = useSave('changeSource', (body: SourceChange) => ({ params: { id: source.id }, body }), {
    onSaved: ({ noise_rules, watch }) => {
      const before = JSON.stringify([source.noise_rules, source.watch]);
      const isOther = JSON.stringify([noise_rules, watch]) !== before;
      if (isOther && (noise_rules.length > 0 || watch)) offerRun(source.id);
      onDone();
    },
    onError: (error) => {
      setErrors(errorsOf(error));
      setRuleErrors(ruleErrorsOf(error, 'noise_rules'));
    },
  });
  const run = useNoiseRun((state) => state.start);
  const runSaved = () => {
    void run(source.id);
    onDone();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = changeOf(draft);
    const parsedRules = rulesOf(rules);
    setErrors('errors' in parsed ? parsed.errors : {});
    setRuleErrors('errors' in parsedRules ? parsedRules.errors : {});
    if ('errors' in parsed || 'errors' in parsedRules) return;
    save.mutate({ ...parsed.value, noise_rules: parsedRules.value });
  };
  const watch = watchOf(draft);
  const isSaved =
    areSaved(rules, source) &&
    JSON.stringify(draftOf(source)) === JSON.stringify({ ...draftOf(source), ...watchDraftOf(watch) });
  const isDirty = !areSaved(rules, source) || JSON.stringify(draft) !== JSON.stringify(draftOf(source));
  useEdits(isDirty);
  const isShownAtFields = Object.keys(errors).length + Object.keys(ruleErrors).length > 0;
  return (
    <form onSubmit={submit} className="stack gap-4" noValidate>
      <p className="muted small wrap-anywhere">{source.url}</p>
      <SourceFields
        draft={draft}
        errors={errors}
        canAllowPrivate
        choosing={{ source, place, onOpen: setPlace, onChosen: () => setChosen((before) => before + 1) }}
        onChange={(change) => setDraft((before) => ({ ...before, ...change }))}
      />
      <NoiseFields rules={rules} errors={ruleErrors} onChange={setRules} />
      {(rules.length > 0 || watch) && (
        <NoisePreviewPanel
          key={chosen}
          runsAtOnce={chosen > 0}
          sourceId={source.id}
          page={source.last_page}
          watch={watch}
          rules={rules}
          onRun={isSaved ? runSaved : undefined}
          onErrors={(found, others) => {
            setRuleErrors(found);
            setErrors(others);
          }}
        />
      )}
      {save.isError && !isShownAtFields && <ErrorNote error={save.error} />}
      <DialogButtons submit="Save" isPending={save.isPending} onCancel={onCancel} />
    </form>
  );
}

/** Whether the rules equal the saved ones. */
function areSaved(rules: readonly TypedRule[], { noise_rules }: WatchedSource): boolean {
  const parsed = rulesOf(rules);
  return 'value' in parsed && JSON.stringify(parsed.value) === JSON.stringify(noise_rules);
}

interface StopWatchingProps {
  sources: readonly VisibleSource[];
  onStopped: () => void;
  onClose: () => void;
}

/** At most so many sources are named. */
const MAX_NAMED = 5;

/** Confirms that sources should no longer be watched, and says what is kept. */
export function StopWatching({ sources, onStopped, onClose }: StopWatchingProps) {
  const reload = useReload();
  const stop = useMutation({
    mutationFn: async () => {
      for (const { id } of sources) await call('removeSource', { params: { id } });
    },
    onSuccess: () => {
      onClose();
      onStopped();
    },
    onSettled: () => reload('removeSource'),
  });
  const [first] = sources;
  const isOne = sources.length === 1;
  const what = countOf(sources.length, 'source');
  const more = sources.length - MAX_NAMED;
  return (
    <OpenModal onClose={onClose} title={`Stop watching ${isOne ? 'this source' : what}?`}>
      <Stack gap="md">
        {!isOne && (
          <ul className="wrap-anywhere" style={{ margin: 0, paddingInlineStart: '1.2rem' }}>
            {sources.slice(0, MAX_NAMED).map(({ id, name, url }) => (
              <li key={id}>{name || url}</li>
            ))}
            {more > 0 && <li>and {countOf(more, 'other')}</li>}
          </ul>
        )}
        <p className="wrap-anywhere">
          {isOne ? <strong>{first?.name || first?.url}</strong> : 'They'} will no longer be checked.{' '}
          {isOne ? 'Its' : 'Their'} versions, events and retrievals stay in the archive. If you add the same
          URL again, its history continues.
        </p>
        {stop.error && <ErrorNote error={stop.error} />}
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose} data-autofocus>
            Keep watching
          </Button>
          <Button color="red.9" onClick={() => stop.mutate()} loading={stop.isPending}>
            Stop watching{!isOne && ` ${what}`}
          </Button>
        </Group>
      </Stack>
    </OpenModal>
  );
}
