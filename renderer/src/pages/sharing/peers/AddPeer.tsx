import { Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { call } from '../../../api/client.ts';
import { fieldErrors } from '../../../api/fieldErrors.ts';
import { callKey } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { DialogButtons } from '../../../components/forms/DialogButtons.tsx';
import { FormDialog, type FormDialogControls } from '../../../components/forms/FormDialog.tsx';

/** Adds a node by its address. */
export function AddPeer({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Add a peer" size="lg">
      {(controls) => <AddPeerForm {...controls} />}
    </FormDialog>
  );
}

const EMPTY = { url: '', key: '' };

function AddPeerForm({ onDone, onCancel, onDirty }: FormDialogControls) {
  const queries = useQueryClient();
  const form = useForm({
    initialValues: EMPTY,
    validate: { url: (url) => (url.trim() ? null : 'Enter the address of the node.') },
  });
  const isDirty = form.isDirty();
  useEffect(() => onDirty(isDirty), [isDirty, onDirty]);
  const add = useMutation({
    mutationFn: ({ url, key }: typeof EMPTY) =>
      call('addPeer', { body: { url: url.trim(), ...(key.trim() ? { key: key.trim() } : {}) } }),
    onError: (error) => form.setErrors(fieldErrors(error)),
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: callKey('listPeers') }),
  });
  return (
    <form onSubmit={form.onSubmit((values) => add.mutate(values))}>
      <Stack gap="md">
        <TextInput
          label="Address"
          description="The owner of the other node finds it under Sharing. The node must be shared."
          placeholder="http://192.168.1.20:7717"
          data-autofocus
          {...form.getInputProps('url')}
        />
        <TextInput
          label="Key"
          description="If you have its key, the node must show exactly this one. Otherwise the key that it shows is pinned, and you compare it afterwards."
          className="mono"
          {...form.getInputProps('key')}
        />
        {add.error && <ErrorNote error={add.error} />}
        <DialogButtons submit="Add peer" isPending={add.isPending} onCancel={onCancel} />
      </Stack>
    </form>
  );
}
