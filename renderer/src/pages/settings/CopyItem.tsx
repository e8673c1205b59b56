import { Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconAlertTriangle, IconCircleCheck, IconCircleDashed } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import {
  type Copy,
  type CopyCheck,
  copyCheckSchema,
  DEFAULT_EVERY_MINUTES,
} from '../../../../shared/node/copy.ts';
import type { Job } from '../../../../shared/node/job.ts';
import { call } from '../../api/client.ts';
import { TimeText } from '../../components/data/TimeText.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { ItemButton, RemoveItemButton } from '../../components/forms/ItemButton.tsx';
import { placeOf } from '../../format/copyPlace.ts';
import { countOf } from '../../format/size.ts';
import { useFollowedJob } from '../../state/useFollowedJob.ts';
import { CopyKey } from './CopyKey.tsx';
import { EditCopy } from './EditCopy.tsx';
import { PagesChoice } from './PagesChoice.tsx';
import { RemoveCopy } from './RemoveCopy.tsx';
import classes from './SettingsPage.module.css';

/** The number of objects that a check of a sample reads back. */
const SAMPLE = 100;

const PAUSED: Record<NonNullable<Copy['paused']>, string> = {
  no_network: 'Paused: this machine has no network.',
  metered: 'Paused: the network costs by volume. “Sync now” sends in any case.',
};

type Work = 'sync' | 'check' | 'sample';

/** A copy: where it is, whether it is up to date, and its buttons. The job tray shows the progress of its jobs. */
export function CopyItem({ copy }: { copy: Copy }) {
  const place = placeOf(copy.target);
  const [isRemoving, removing] = useDisclosure();
  const [isKeyOpen, keyDialog] = useDisclosure();
  const [isEditing, editing] = useDisclosure();
  const { work, isBusy, checked } = useCopyWork(copy);
  const button = (kind: Work, label: string) => (
    <ItemButton
      label={label}
      of={place}
      loading={isBusy && work.variables === kind}
      disabled={isBusy}
      onClick={() => work.mutate(kind)}
    />
  );
  return (
    <li>
      <div>
        <h3 className={classes.place}>{place}</h3>
        {copy.endpoint && <p className="muted small">at {copy.endpoint}</p>}
      </div>
      <State copy={copy} />
      {copy.paused && <p className="small">{PAUSED[copy.paused]}</p>}
      <p className="muted small">
        Last sync: {copy.synced_at ? <TimeText at={copy.synced_at} /> : 'never'} · last check:{' '}
        {copy.checked_at ? <TimeText at={copy.checked_at} /> : 'never'} · every{' '}
        {countOf(copy.every_minutes ?? DEFAULT_EVERY_MINUTES, 'minute')} · key:{' '}
        {copy.has_key ? 'kept there, encrypted' : 'not kept there'}
      </p>
      <PagesChoice copy={copy} place={place} />
      <Group gap="xs">
        {button('sync', 'Sync now')}
        {button('check', 'Check all')}
        {button('sample', 'Check a sample')}
        <ItemButton label="Key" of={place} onClick={keyDialog.open} />
        <ItemButton label="Edit" of={place} onClick={editing.open} />
        <RemoveItemButton of={place} onClick={removing.open} />
      </Group>
      {work.error && <ErrorNote error={work.error} />}
      {checked && (
        <p className="small">
          <output>{sentenceOf(checked)}</output>
        </p>
      )}
      {isKeyOpen && <CopyKey copy={copy} place={place} onClose={keyDialog.close} />}
      <EditCopy copy={copy} opened={isEditing} onClose={editing.close} />
      {isRemoving && <RemoveCopy copy={copy} place={place} onClose={removing.close} />}
    </li>
  );
}

/** Syncs or checks a copy, and follows the job. */
function useCopyWork({ id }: Copy) {
  const params = { id };
  const work = useMutation({
    mutationFn: async (kind: Work) => {
      const job =
        kind === 'sync'
          ? await call('syncCopy', { params })
          : await call('checkCopy', { params, body: kind === 'sample' ? { sample: SAMPLE } : {} });
      return { kind, job: job as Job };
    },
  });
  const job = useFollowedJob(work.data?.job.id);
  return {
    work,
    isBusy: work.isPending || job?.state === 'running',
    /** What the last check found. */
    checked: job?.kind === 'copy_check' ? copyCheckSchema.safeParse(job.result).data : undefined,
  };
}

function State({ copy: { behind, last_error, synced_at } }: { copy: Copy }) {
  const health = last_error !== null ? 'bad' : behind === 0 && synced_at ? 'well' : 'idle';
  const Icon = { bad: IconAlertTriangle, well: IconCircleCheck, idle: IconCircleDashed }[health];
  const isBehind = behind > 0 || !synced_at;
  return (
    <p className={classes.copyState} data-health={health}>
      <Icon size={17} aria-hidden />
      <span>
        {last_error ?? (isBehind ? `${countOf(behind, 'entry', 'entries')} behind` : 'Up to date')}
        {last_error !== null && behind > 0 && ` ${countOf(behind, 'entry', 'entries')} behind.`}
      </span>
    </p>
  );
}

function sentenceOf({ ok, checked, damaged, missing, restored }: CopyCheck): string {
  const read = `${countOf(checked, 'file was', 'files were')} read back.`;
  const found = ok
    ? 'All are intact.'
    : `${damaged} were damaged and ${missing} were missing. They were sent again.`;
  const here = restored > 0 ? ` ${countOf(restored, 'object was', 'objects were')} repaired here.` : '';
  return `${read} ${found}${here}`;
}
