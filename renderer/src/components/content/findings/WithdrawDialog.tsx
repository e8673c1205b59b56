import { Stack, Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Finding } from '../../../../../shared/findings/finding.ts';
import { call } from '../../../api/client.ts';
import { fieldErrors } from '../../../api/fieldErrors.ts';
import { ErrorNote } from '../../feedback/ErrorNote.tsx';
import { DialogButtons } from '../../forms/DialogButtons.tsx';
import { FormDialog, type FormDialogControls } from '../../forms/FormDialog.tsx';
import { invalidateFindings } from './FindingDialog.tsx';

export interface WithdrawDialogProps {
  finding: Finding;
  opened: boolean;
  onClose: () => void;
}

/** Withdraws a finding with a reason. */
export function WithdrawDialog({ finding, opened, onClose }: WithdrawDialogProps) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Withdraw finding" size="md">
      {(controls) => <WithdrawForm finding={finding} {...controls} />}
    </FormDialog>
  );
}

function WithdrawForm({ finding, onDone, onCancel, onDirty }: { finding: Finding } & FormDialogControls) {
  const queries = useQueryClient();
  const form = useForm({
    initialValues: { reason: '' },
    validate: { reason: (reason) => (reason === '' ? 'Give a reason.' : null) },
  });
  const isDirty = form.isDirty();
  useEffect(() => onDirty(isDirty), [isDirty, onDirty]);
  const send = useMutation({
    mutationFn: ({ reason }: typeof form.values) =>
      call('withdrawFinding', { params: { id: finding.id }, body: { reason } }),
    onError: (error) => form.setErrors(fieldErrors(error)),
    onSuccess: async () => {
      onDone();
      await invalidateFindings(queries);
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => send.mutate(values))}>
      <Stack gap="md">
        <p>
          The finding is no longer listed. It stays readable together with the reason, because the ledger
          records both.
        </p>
        <Textarea
          label="Reason"
          autosize
          minRows={2}
          maxRows={8}
          data-autofocus
          {...form.getInputProps('reason')}
        />
        {send.error && <ErrorNote error={send.error} />}
        <DialogButtons submit="Withdraw" isPending={send.isPending} onCancel={onCancel} />
      </Stack>
    </form>
  );
}
