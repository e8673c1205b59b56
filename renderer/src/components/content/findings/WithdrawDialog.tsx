import { Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Finding } from '../../../../../shared/findings/finding.ts';
import { call } from '../../../api/client.ts';
import { fieldErrors } from '../../../api/fieldErrors.ts';
import { DialogForm } from '../../forms/DialogForm.tsx';
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

function WithdrawForm({ finding, onDone, ...controls }: { finding: Finding } & FormDialogControls) {
  const queries = useQueryClient();
  const form = useForm({
    initialValues: { reason: '' },
    validate: { reason: (reason) => (reason === '' ? 'Give a reason.' : null) },
  });
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
    <DialogForm form={form} controls={controls} save={send} submit="Withdraw">
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
    </DialogForm>
  );
}
