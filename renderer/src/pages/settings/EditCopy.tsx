import {
  Button,
  Group,
  NumberInput,
  type NumberInputProps,
  PasswordInput,
  Stack,
  TextInput,
} from '@mantine/core';
import { useState } from 'react';
import { type Copy, type CopyChange, copyKeySchema } from '../../../../shared/node/copy.ts';
import { isProblem } from '../../api/client.ts';
import { useSave } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { DialogForm, OpenModal, Question, useItemForm } from '../../components/forms/DialogForm.tsx';

/** Changes the settings of a copy. Its place stays. */
export function EditCopyForm({ copy }: { copy: Copy }) {
  const isBucket = copy.target.startsWith('s3:');
  const { form, save } = useItemForm({
    route: 'changeCopy',
    initialValues: {
      every_minutes: copy.every_minutes ?? ('' as number | ''),
      public_url: copy.public_url ?? '',
      endpoint: copy.endpoint ?? '',
      region: copy.region ?? '',
      access_key: '',
      secret_key: '',
    },
    validate: ({ secret_key, access_key }) => ({ secret_key: checkSecret(secret_key, access_key) }),
    request: (values) => ({ params: { id: copy.id }, body: changeOf(values, isBucket) }),
  });
  return (
    <DialogForm form={form} save={save} submit="Save" canSubmit={form.isDirty()}>
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
              : 'No key is stored, so the credentials in the environment are used. Leave both empty to continue using them.'
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

interface CopyKeyProps {
  copy: Copy;
  place: string;
  onClose: () => void;
}

/** Keeps the key of the archive in a copy, encrypted with a passphrase, or removes it from there. */
export function CopyKey({ copy, place, onClose }: CopyKeyProps) {
  const [passphrase, setPassphrase] = useState('');
  const [again, setAgain] = useState('');
  const params = { id: copy.id };
  const keep = useSave('keepKeyInCopy', () => ({ params, body: { passphrase } }), { onSaved: onClose });
  const remove = useSave('removeKeyFromCopy', () => ({ params }), { onSaved: onClose });
  const isValid = copyKeySchema.safeParse({ passphrase }).success;
  return (
    <OpenModal onClose={onClose} title="The key in this copy" size="md">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isValid && again === passphrase) keep.mutate();
        }}
      >
        <Stack gap="md">
          <p>
            With the key, an archive restored from {place} can continue as the same archive. The key is
            encrypted with a passphrase, which is not stored. Without the passphrase, the key in the copy is
            useless. Anyone who can read the copy can try passphrases, so choose a long one.
          </p>
          <PasswordInput
            label="Passphrase"
            description="At least 12 characters."
            autoComplete="new-password"
            data-autofocus
            value={passphrase}
            onChange={(event) => setPassphrase(event.currentTarget.value)}
          />
          <PasswordInput
            label="Repeat the passphrase"
            autoComplete="new-password"
            value={again}
            error={again !== '' && again !== passphrase && 'The two passphrases differ.'}
            onChange={(event) => setAgain(event.currentTarget.value)}
          />
          {(keep.error ?? remove.error) && <ErrorNote error={keep.error ?? remove.error} />}
          <Group justify="flex-end" gap="sm">
            {copy.has_key && (
              <Button variant="subtle" color="red" loading={remove.isPending} onClick={() => remove.mutate()}>
                Remove the key from the copy
              </Button>
            )}
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={keep.isPending} disabled={!isValid || again !== passphrase}>
              Keep the key there
            </Button>
          </Group>
        </Stack>
      </form>
    </OpenModal>
  );
}

interface RemoveCopyProps {
  copy: Copy;
  place: string;
  onClose: () => void;
}

/** Asks before a copy is removed. If only it holds objects, offers to mark it as lost. */
export function RemoveCopy({ copy, place, onClose }: RemoveCopyProps) {
  const remove = useSave('removeCopy', () => ({ params: { id: copy.id } }), { onSaved: onClose });
  if (isProblem(remove.error, 'copy_needed'))
    return <MarkCopyLost copy={copy} place={place} onClose={onClose} />;
  return (
    <Question title="Remove this copy?" answer="Remove copy" save={remove} onClose={onClose}>
      {place} will no longer be updated. Its contents stay there. Delete them yourself if you no longer need
      them.
    </Question>
  );
}

/** The job tray shows the progress, and the reason if it fails. */
function MarkCopyLost({ copy, place, onClose }: RemoveCopyProps) {
  const markLost = useSave('markCopyLost', () => ({ params: { id: copy.id } }), { onSaved: onClose });
  return (
    <Question
      title="Only this copy holds some objects"
      answer="Mark as lost"
      save={markLost}
      onClose={onClose}
    >
      <Stack gap="sm">
        <p>
          {place} is the only place that holds some offloaded objects. If it can be read, close this dialog
          and choose “Restore all to this disk” first.
        </p>
        <p>
          If the copy is permanently lost, mark it as lost. The ledger then records these objects as damaged,
          and the copy is removed from this list. The records of the objects stay. If the same bytes are
          stored again, they repair the objects.
        </p>
      </Stack>
    </Question>
  );
}

/** How often a copy is synced. */
export function SyncInterval(props: NumberInputProps) {
  return (
    <NumberInput
      label="Sync every"
      description="Minutes between two syncs while the copy is behind. Default: 5."
      min={1}
      max={43_200}
      allowDecimal={false}
      hideControls
      {...props}
    />
  );
}

interface BucketAccessProps {
  form: { getInputProps: (field: 'endpoint' | 'region' | 'access_key' | 'secret_key') => object };
  aboutEndpoint: string;
  aboutKey: string;
}

/** Where the object store of a bucket is, and the key for it. */
export function BucketAccess({ form, aboutEndpoint, aboutKey }: BucketAccessProps) {
  return (
    <>
      <TextInput
        label="Endpoint"
        description={aboutEndpoint}
        placeholder="https://s3.example.org"
        {...form.getInputProps('endpoint')}
      />
      <TextInput label="Region" placeholder="us-east-1" {...form.getInputProps('region')} />
      <TextInput
        label="Access key"
        description={aboutKey}
        autoComplete="off"
        {...form.getInputProps('access_key')}
      />
      <PasswordInput label="Secret" autoComplete="off" {...form.getInputProps('secret_key')} />
    </>
  );
}

/** The access key and its secret are given together, or not at all. */
export function checkSecret(secret: string, accessKey: string): string | null {
  return !secret === !accessKey ? null : 'The access key and its secret belong together.';
}
