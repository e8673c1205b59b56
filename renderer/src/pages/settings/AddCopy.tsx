import { Checkbox, SegmentedControl, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { NewCopy } from '../../../../shared/node/copy.ts';
import { call } from '../../api/client.ts';
import { fieldErrors } from '../../api/fieldErrors.ts';
import { callKey } from '../../api/useCall.ts';
import { DialogForm } from '../../components/forms/DialogForm.tsx';
import { FormDialog, type FormDialogControls } from '../../components/forms/FormDialog.tsx';
import { folderTarget } from '../../format/copyPlace.ts';
import { BucketAccess, checkSecret, SyncInterval } from './CopyFields.tsx';

/** What the choice of pages means. */
export const PAGES_SENTENCE =
  'Anyone who can open the place can read the archive as plain web pages, without a node.';

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
type Form = Pick<ReturnType<typeof useForm<Values>>, 'getInputProps' | 'values'>;

function AddCopyForm({ onDone, ...controls }: FormDialogControls) {
  const queries = useQueryClient();
  const form = useForm<Values>({
    initialValues: EMPTY,
    validate: {
      folder: (path, { kind }) =>
        kind === 'folder' && !folderTarget(path) ? 'Enter the full path, such as /mnt/backup/archive.' : null,
      bucket: (bucket, { kind }) =>
        kind === 'bucket' && !bucket.trim() ? 'Enter the name of the bucket.' : null,
      secret_key: (secret, { kind, access_key }) =>
        kind === 'bucket' ? checkSecret(secret, access_key) : null,
    },
  });
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
    <DialogForm form={form} controls={controls} save={add} submit="Add copy">
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
            aboutKey="Stored in the data folder and never shown again. Leave both empty to use the environment."
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
