import { Checkbox, Group, SegmentedControl, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type Copy,
  type CopyCheck,
  type CopySync,
  copyCheckSchema,
  copySyncSchema,
  DEFAULT_EVERY_MINUTES,
  type DrillMeasures,
  inNoCopySentence,
  type NewCopy,
} from '../../../../shared/node/copy.ts';
import type { Job } from '../../../../shared/node/job.ts';
import { call, fieldErrors } from '../../api/client.ts';
import { useCall, useReload, useSave } from '../../api/useCall.ts';
import { HealthLine, TimeText } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { IconButton, ItemButton, RemoveItemButton } from '../../components/forms/buttons.tsx';
import { DialogForm, FormDialog, type ItemForm, useItemForm } from '../../components/forms/DialogForm.tsx';
import { copyPlace, countOf, folderTarget, formatBytes, formatCount, formatDuration } from '../../format.ts';
import { useFollowedJob, useReloadAfterJobs } from '../../state/jobs.ts';
import { BucketAccess, CopyKey, checkSecret, EditCopyForm, RemoveCopy, SyncInterval } from './EditCopy.tsx';
import { SettingsGroup } from './SettingsForm.tsx';
import { OffloadedObjects } from './StoredBytes.tsx';

const SHOWN = 100;
const COPY_JOBS = ['copy_sync', 'copy_check', 'copy_drill', 'mark_lost'] as const;

/** The copies of the archive in folders and buckets, each with its state and what can be done with it. */
export function Copies() {
  const answer = useCall('listCopies', { query: { limit: SHOWN } });
  const [isAdding, adding] = useDisclosure();
  useReloadAfterJobs(COPY_JOBS, 'syncCopy');
  const hasPrivate = answer.data?.items.some(({ pages }) => !pages) ?? false;
  const add = (
    <IconButton icon={IconPlus} onClick={adding.open}>
      Add a copy
    </IconButton>
  );
  return (
    <SettingsGroup
      title="Copies"
      meaning="A copy is a second, complete archive in another place. It is updated in the background, and you can restore the archive from it."
    >
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.data?.items.length === 0 && (
        <EmptyState title="Add a second copy" action={add}>
          Keep a second copy in a folder on another disk, or in a bucket of an object store.
        </EmptyState>
      )}
      {answer.data && answer.data.items.length > 0 && (
        <>
          <ul className="plain stack gap-4">
            {answer.data.items.map((copy) => (
              <CopyItem key={copy.id} copy={copy} hasPrivate={hasPrivate} />
            ))}
          </ul>
          <div>{add}</div>
          <OffloadedObjects />
        </>
      )}
      <FormDialog opened={isAdding} onClose={adding.close} title="Add a copy" size="lg">
        <AddCopyForm />
      </FormDialog>
    </SettingsGroup>
  );
}

/** The number of objects that a check of a sample reads back. */
const SAMPLE = 100;

const PAUSED: Record<NonNullable<Copy['paused']>, string> = {
  no_network: 'Paused: this machine has no network connection.',
  metered: 'Paused on a metered connection. “Sync now” still works.',
};

type Work = 'sync' | 'check' | 'sample' | 'drill';

/** A copy: where it is, whether it is up to date, and its buttons. The job tray shows the progress of its jobs. */
function CopyItem({ copy, hasPrivate }: { copy: Copy; hasPrivate: boolean }) {
  const place = copyPlace(copy.target);
  const [isRemoving, removing] = useDisclosure();
  const [isKeyOpen, keyDialog] = useDisclosure();
  const [isEditing, editing] = useDisclosure();
  const { work, isBusy, checked, synced } = useCopyWork(copy);
  const cleaned = synced && cleanedSentence(synced);
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
    <li className="card stack gap-2">
      <div>
        <h3 className="wrap-anywhere">{place}</h3>
        {copy.endpoint && <p className="muted small">at {copy.endpoint}</p>}
      </div>
      <State copy={copy} />
      {copy.paused && <p className="small">{PAUSED[copy.paused]}</p>}
      <p className="muted small">
        Last sync: {copy.synced_at ? <TimeText at={copy.synced_at} /> : 'never'} · last check:{' '}
        {copy.checked_at ? <TimeText at={copy.checked_at} /> : 'never'} · every{' '}
        {countOf(copy.every_minutes ?? DEFAULT_EVERY_MINUTES, 'minute')} · key:{' '}
        {copy.has_key ? 'stored in the copy, encrypted' : 'not stored in the copy'}
      </p>
      <LastDrill copy={copy} />
      <WithheldThere copy={copy} hasPrivate={hasPrivate} />
      <PagesChoice copy={copy} place={place} />
      <Group gap="xs">
        {button('sync', 'Sync now')}
        {button('check', 'Check all')}
        {button('sample', 'Check a sample')}
        {button('drill', 'Test restore now')}
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
      {cleaned && (
        <p className="small">
          <output>{cleaned}</output>
        </p>
      )}
      {isKeyOpen && <CopyKey copy={copy} place={place} onClose={keyDialog.close} />}
      <FormDialog opened={isEditing} onClose={editing.close} title="Edit this copy" size="lg">
        <EditCopyForm copy={copy} />
      </FormDialog>
      {isRemoving && <RemoveCopy copy={copy} place={place} onClose={removing.close} />}
    </li>
  );
}

/** Syncs or checks a copy, and follows the job. */
function useCopyWork({ id }: Copy) {
  const params = { id };
  const work = useMutation({
    mutationFn: async (kind: Work) => {
      const job = {
        sync: () => call('syncCopy', { params }),
        check: () => call('checkCopy', { params, body: {} }),
        sample: () => call('checkCopy', { params, body: { sample: SAMPLE } }),
        drill: () => call('drillCopy', { params }),
      }[kind];
      return { kind, job: (await job()) as Job };
    },
  });
  const job = useFollowedJob(work.data?.job.id);
  return {
    work,
    isBusy: work.isPending || job?.state === 'running',
    /** What the last check found. */
    checked: job?.kind === 'copy_check' ? copyCheckSchema.safeParse(job.result).data : undefined,
    /** What the last sync did. */
    synced: job?.kind === 'copy_sync' ? copySyncSchema.safeParse(job.result).data : undefined,
  };
}

function State({ copy: { behind, last_error, synced_at } }: { copy: Copy }) {
  const health = last_error !== null ? 'bad' : behind === 0 && synced_at ? 'well' : 'idle';
  const isBehind = behind > 0 || !synced_at;
  return (
    <HealthLine health={health}>
      {last_error ?? (isBehind ? `${countOf(behind, 'entry', 'entries')} behind` : 'Up to date')}
      {last_error !== null && behind > 0 && ` ${countOf(behind, 'entry', 'entries')} behind.`}
    </HealthLine>
  );
}

/** What the last restore test of a copy found. */
function LastDrill({ copy: { last_drill: drill, proven } }: { copy: Copy }) {
  if (drill === null) return <p className="muted small">Restore test: never.</p>;
  if (drill.outcome !== 'restored')
    return (
      <p className="warn small wrap-anywhere" aria-live="polite">
        Restore test failed <TimeText at={drill.at} />. {drill.sentence}{' '}
        {proven && (
          <>
            It last succeeded <TimeText at={proven.at} />.
          </>
        )}
      </p>
    );
  return (
    <p className="muted small" aria-live="polite">
      Restore test passed <TimeText at={drill.at} />
      {drill.restored && `: ${restoredSentence(drill.restored)}`}
    </p>
  );
}

function restoredSentence({
  entries,
  objects,
  all_objects,
  full_restore_seconds,
  ...speed
}: DrillMeasures): string {
  const records = `all records of ${countOf(entries, 'ledger entry', 'ledger entries')}`;
  const all = countOf(all_objects, 'object');
  const sample = objects === all_objects ? all : `${formatCount(objects)} of ${all}`;
  const rate = `${formatCount(speed.records_per_second)} records/s, ${formatBytes(speed.bytes_per_second)}/s`;
  return `${records} and ${sample}. A full restore would take about ${formatDuration(full_restore_seconds)} (${rate}).`;
}

/** What a copy holds of what visitors may not see. */
function WithheldThere({ copy, hasPrivate }: { copy: Copy; hasPrivate: boolean }) {
  const { behind, pages, withheld_left_out, withheld_in_no_copy, withheld_encrypted } = copy;
  const { withheld_in_the_clear } = copy;
  const isAny = withheld_left_out + withheld_in_the_clear + withheld_encrypted > 0;
  if (!isAny) return null;
  const isWrong = withheld_in_no_copy + withheld_encrypted > 0 || (pages && withheld_in_the_clear > 0);
  return (
    <p className={`small ${isWrong ? 'warn' : 'muted'}`}>
      {pages &&
        withheld_in_the_clear > 0 &&
        `${countOf(withheld_in_the_clear, 'withheld object is', 'withheld objects are')} still readable there${behind > 0 ? ', until the next sync' : '. Sync now; what then stays is intact nowhere else, so give it up for good (Withheld) if it must go'}. `}
      {!pages &&
        withheld_in_the_clear > 0 &&
        `${countOf(withheld_in_the_clear, 'withheld object', 'withheld objects')} there as they are: do not publish this copy. `}
      {withheld_left_out > 0 &&
        `${countOf(withheld_left_out, 'withheld object is', 'withheld objects are')} not in this copy${pages ? ', because readers may look into it' : ' yet'}. `}
      {withheld_in_no_copy > 0 && `${inNoCopySentence(withheld_in_no_copy, hasPrivate)} `}
      {withheld_encrypted > 0 &&
        `${countOf(withheld_encrypted, 'withheld object is', 'withheld objects are')} only there, encrypted by an earlier version. Put its key into withheld.key, then sync.`}
    </p>
  );
}

/** What a sync removed, if it did; undefined otherwise. */
function cleanedSentence({
  withheld_cleaned,
  released_removed,
  older_versions,
}: CopySync): string | undefined {
  const sentences = [
    withheld_cleaned > 0 &&
      `${countOf(withheld_cleaned, 'withheld object was', 'withheld objects were')} removed there.`,
    released_removed > 0 &&
      `${countOf(released_removed, 'released object was', 'released objects were')} removed.`,
    older_versions &&
      'The bucket may still have older versions of what was removed: delete them with the tools of the store.',
  ].filter(Boolean);
  return sentences.length > 0 ? sentences.join(' ') : undefined;
}

function sentenceOf({ ok, checked, damaged, missing, extra, exposed, restored, wrong }: CopyCheck): string {
  const sentences = [`${countOf(checked, 'file was', 'files were')} read back.`];
  if (ok) sentences.push('All are intact.');
  if (damaged > 0)
    sentences.push(`${countOf(damaged, 'damaged file was', 'damaged files were')} sent again.`);
  if (missing > 0)
    sentences.push(`${countOf(missing, 'missing file was', 'missing files were')} sent again.`);
  if (extra > 0)
    sentences.push(
      `${countOf(extra, 'file does', 'files do')} not belong to the copy. Remove any that you did not put there.`,
    );
  if (exposed > 0)
    sentences.push(
      `${countOf(exposed, 'file has', 'files have')} bytes that are withheld or were released. The next sync removes objects; remove other files yourself.`,
    );
  if (wrong.length > 0) sentences.push(`${wrong.map(({ path }) => path).join(', ')}.`);
  if (restored > 0)
    sentences.push(`${countOf(restored, 'object was', 'objects were')} repaired in this archive.`);
  return sentences.join(' ');
}

/** What the choice of pages means. */
const PAGES_SENTENCE =
  'Anyone with access to the copy can read the archive as plain web pages, without a node.';

const LEFT_OUT_SENTENCE =
  ' What is withheld is not in it. Without the pages it would be: keep readers out of the place first.';

const EMPTY = {
  kind: 'folder' as 'folder' | 'bucket',
  folder: '',
  bucket: '',
  endpoint: '',
  region: '',
  access_key: '',
  secret_key: '',
  every_minutes: '' as number | '',
  pages: false,
  public_url: '',
};
type Values = typeof EMPTY;
type Form = Pick<ItemForm<Values, 'addCopy'>['form'], 'getInputProps' | 'values'>;

/** Adds a copy in a folder or a bucket, and starts its first sync. */
function AddCopyForm() {
  // The copy is added by then. If its sync fails, the copy says why, and its button tries again.
  const firstSync = useSave('syncCopy', (id: string) => ({ params: { id } }));
  const { form, save } = useItemForm({
    route: 'addCopy',
    initialValues: EMPTY,
    validate: placeErrors,
    request: (values) => ({ body: bodyOf(values) }),
    errorsOf: (error, { kind }) => {
      const { target, ...others } = fieldErrors(error);
      return { ...others, ...(target && { [kind]: target }) };
    },
    onSaved: ({ id }) => firstSync.mutate(id),
  });
  return (
    <DialogForm form={form} save={save} submit="Add copy">
      <Place form={form} />
      <SyncInterval {...form.getInputProps('every_minutes')} />
      <Checkbox
        label="Pages for readers"
        description={PAGES_SENTENCE}
        {...form.getInputProps('pages', { type: 'checkbox' })}
      />
      {form.values.pages && (
        <TextInput
          label="Address of the pages"
          description="The public URL of the copy, for links that must be absolute. Leave it empty if there is none yet."
          placeholder="https://archive.example.org/"
          {...form.getInputProps('public_url')}
        />
      )}
    </DialogForm>
  );
}

function placeErrors({ kind, folder, bucket, access_key, secret_key }: Values) {
  if (kind === 'folder')
    return { folder: !folderTarget(folder) && 'Enter the full path, such as /mnt/backup/archive.' };
  return {
    bucket: !bucket.trim() && 'Enter the name of the bucket.',
    secret_key: checkSecret(secret_key, access_key),
  };
}

/** Where the copy is: a folder, or a bucket and how it is reached. */
function Place({ form }: { form: Form }) {
  return (
    <>
      <SegmentedControl
        aria-label="Kind of place"
        data={[
          { value: 'folder', label: 'Folder' },
          { value: 'bucket', label: 'Bucket' },
        ]}
        {...form.getInputProps('kind')}
      />
      {form.values.kind === 'folder' ? (
        <TextInput
          label="Folder"
          description="The full path of an empty folder, or of one that does not exist yet, on another disk or a network drive."
          data-autofocus
          {...form.getInputProps('folder')}
        />
      ) : (
        <>
          <TextInput
            label="Bucket"
            description="The name of a bucket, or bucket/prefix. The bucket must exist."
            {...form.getInputProps('bucket')}
          />
          <BucketAccess
            form={form}
            aboutEndpoint="The address of the object store. Leave it empty for AWS."
            aboutKey="Stored in the data folder and never shown again. Leave both empty to use the credentials in the environment."
          />
        </>
      )}
    </>
  );
}

function bodyOf({ kind, folder, bucket, every_minutes, pages, public_url, ...options }: Values): NewCopy {
  const chosen = {
    pages,
    ...(pages && public_url !== '' && { public_url }),
    ...(every_minutes !== '' && { every_minutes }),
  };
  if (kind === 'folder') return { target: folderTarget(folder) ?? '', ...chosen };
  const given = Object.entries(options).filter(([, value]) => value !== '');
  return {
    target: `s3://${bucket.trim().replace(/^s3:\/\//, '')}`,
    ...Object.fromEntries(given),
    ...chosen,
  };
}

/** Whether the copy has pages for readers. A change starts a sync. */
function PagesChoice({ copy, place }: { copy: Copy; place: string }) {
  const reload = useReload();
  /** What was just chosen, until the list of copies says the same. */
  const [chosen, setChosen] = useState<boolean>();
  const change = useMutation({
    mutationFn: async (pages: boolean) => {
      const params = { id: copy.id };
      await call('changeCopy', { params, body: { pages } });
      await call('syncCopy', { params });
    },
    onSettled: async () => {
      await reload('changeCopy');
      setChosen(undefined);
    },
  });
  return (
    <>
      <Checkbox
        label="Pages for readers"
        aria-label={`Pages for readers: ${place}`}
        description={`${copy.public_url ?? PAGES_SENTENCE}${copy.withheld_left_out > 0 ? LEFT_OUT_SENTENCE : ''}`}
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
