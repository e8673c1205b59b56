import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Copy, CopyChange } from '../../../../shared/node/copy.ts';
import { call } from '../../api/client.ts';
import { fieldErrors } from '../../api/fieldErrors.ts';
import { callKey } from '../../api/useCall.ts';
import { DialogForm } from '../../components/forms/DialogForm.tsx';
import { FormDialog, type FormDialogControls } from '../../components/forms/FormDialog.tsx';
import { BucketAccess, checkSecret, SyncInterval } from './CopyFields.tsx';

/** Changes the settings of a copy. Its place stays. */
export function EditCopy({ copy, opened, onClose }: { copy: Copy; opened: boolean; onClose: () => void }) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Edit this copy" size="lg">
      {(controls) => <EditCopyForm copy={copy} {...controls} />}
    </FormDialog>
  );
}

function EditCopyForm({ copy, onDone, ...controls }: FormDialogControls & { copy: Copy }) {
  const queries = useQueryClient();
  const isBucket = copy.target.startsWith('s3:');
  const form = useForm({
    initialValues: {
      every_minutes: copy.every_minutes ?? ('' as number | ''),
      public_url: copy.public_url ?? '',
      endpoint: copy.endpoint ?? '',
      region: copy.region ?? '',
      access_key: '',
      secret_key: '',
    },
    validate: {
      secret_key: (secret, { access_key }) => checkSecret(secret, access_key),
    },
  });
  const change = useMutation({
    mutationFn: (values: typeof form.values) =>
      call('changeCopy', { params: { id: copy.id }, body: changeOf(values, isBucket) }),
    onError: (error) => form.setErrors(fieldErrors(error)),
    onSuccess: async () => {
      onDone();
      await queries.invalidateQueries({ queryKey: callKey('listCopies') });
    },
  });
  return (
    <DialogForm form={form} controls={controls} save={change} submit="Save" canSubmit={form.isDirty()}>
      <SyncInterval data-autofocus {...form.getInputProps('every_minutes')} />
      <TextInput
        label="Address of the pages"
        description="Where readers find the pages of the copy, if it has any."
        placeholder="https://archive.example.org/"
        {...form.getInputProps('public_url')}
      />
      {isBucket && (
        <BucketAccess
          form={form}
          aboutEndpoint="The address of the object store. Leave it empty for AWS. A change is saved only if the copy is found there."
          aboutKey={
            copy.has_credentials
              ? 'A key is stored. Leave both empty to keep it.'
              : 'No key is stored; the environment is used. Leave both empty to keep it that way.'
          }
        />
      )}
    </DialogForm>
  );
}

function changeOf(
  {
    every_minutes,
    public_url,
    endpoint,
    region,
    access_key,
    secret_key,
  }: {
    every_minutes: number | '';
    public_url: string;
    endpoint: string;
    region: string;
    access_key: string;
    secret_key: string;
  },
  isBucket: boolean,
): CopyChange {
  const orNull = (text: string) => (text.trim() === '' ? null : text.trim());
  return {
    every_minutes: every_minutes === '' ? null : every_minutes,
    public_url: orNull(public_url),
    ...(isBucket && { endpoint: orNull(endpoint), region: orNull(region) }),
    ...(access_key !== '' && { access_key, secret_key }),
  };
}
