import { Checkbox, NumberInput, PasswordInput, SegmentedControl, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { NewCopy } from '../../../../shared/node/copy.ts';
import { call } from '../../api/client.ts';
import { fieldErrors } from '../../api/fieldErrors.ts';
import { callKey } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { DialogButtons } from '../../components/forms/DialogButtons.tsx';
import { FormDialog, type FormDialogControls } from '../../components/forms/FormDialog.tsx';
import { folderTarget } from '../../format/copyPlace.ts';

/** What the choice of pages means. */
export const PAGES_SENTENCE =
  'Anyone who can open the place reads the archive as plain web pages, without a node.';

/** Adds a copy in a folder or a bucket, and starts its first sync. */
export function AddCopy({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Add a copy" size="lg">
      {(controls) => <AddCopyForm {...controls} />}
    </FormDialog>
  );
}

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

function AddCopyForm({ onDone, onCancel, onDirty }: FormDialogControls) {
  const queries = useQueryClient();
  const form = useForm<Values>({
    initialValues: EMPTY,
    validate: {
      folder: (path, { kind }) =>
        kind === 'folder' && !folderTarget(path) ? 'Enter the full path, such as /mnt/backup/archive.' : null,
      bucket: (bucket, { kind }) =>
        kind === 'bucket' && !bucket.trim() ? 'Enter the name of the bucket.' : null,
      secret_key: (secret, { kind, access_key }) =>
        kind === 'bucket' && !secret !== !access_key
          ? 'The access key and its secret belong together.'
          : null,
    },
  });
  const isDirty = form.isDirty();
  useEffect(() => onDirty(isDirty), [isDirty, onDirty]);
  const add = useMutation({
    mutationFn: async (values: Values) => {
      const copy = await call('addCopy', { body: bodyOf(values) });
      await call('syncCopy', { params: { id: copy.id } });
    },
    onError: (error, { kind }) => {
      const { target, ...others } = fieldErrors(error);
      form.setErrors({ ...others, ...(target && { [kind]: target }) });
    },
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: callKey('listCopies') }),
  });
  return (
    <form onSubmit={form.onSubmit((values) => add.mutate(values))}>
      <Stack gap="md">
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
          <BucketFields form={form} />
        )}
        <NumberInput
          label="Sync every"
          description="Minutes between two syncs while the copy is behind. Empty: 5."
          min={1}
          max={43_200}
          allowDecimal={false}
          hideControls
          {...form.getInputProps('every_minutes')}
        />
        <Checkbox
          label="Pages for readers"
          description={PAGES_SENTENCE}
          {...form.getInputProps('pages', { type: 'checkbox' })}
        />
        {form.values.pages && (
          <TextInput
            label="Address of the pages"
            description="Where readers find the copy, for links that must be complete. Leave it empty if there is none yet."
            placeholder="https://archive.example.org/"
            {...form.getInputProps('public_url')}
          />
        )}
        {add.error && <ErrorNote error={add.error} />}
        <DialogButtons submit="Add copy" isPending={add.isPending} onCancel={onCancel} />
      </Stack>
    </form>
  );
}

function BucketFields({ form }: { form: Pick<ReturnType<typeof useForm<Values>>, 'getInputProps'> }) {
  return (
    <>
      <TextInput
        label="Bucket"
        description="The name of a bucket, or bucket/prefix. The bucket must exist."
        {...form.getInputProps('bucket')}
      />
      <TextInput
        label="Endpoint"
        description="The address of the object store. Leave it empty for AWS."
        placeholder="https://s3.example.org"
        {...form.getInputProps('endpoint')}
      />
      <TextInput label="Region" placeholder="us-east-1" {...form.getInputProps('region')} />
      <TextInput
        label="Access key"
        description="Kept in the data folder and never shown again. Leave both empty to use the environment."
        autoComplete="off"
        {...form.getInputProps('access_key')}
      />
      <PasswordInput label="Secret" autoComplete="off" {...form.getInputProps('secret_key')} />
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
