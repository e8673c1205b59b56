import { Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import type { NewCaseItem } from '../../../../../shared/findings/case.ts';
import { call } from '../../../api/client.ts';
import { fieldErrors } from '../../../api/fieldErrors.ts';
import { callKey } from '../../../api/useCall.ts';
import { DialogForm } from '../../forms/DialogForm.tsx';
import { FormDialog, type FormDialogControls } from '../../forms/FormDialog.tsx';

interface NewCaseProps {
  /** The first item. Without one, the page of the new case is opened. */
  item?: Omit<NewCaseItem, 'note'>;
  onCreated?: (id: string) => void;
}

/** Creates a case. */
export function NewCaseDialog({
  opened,
  onClose,
  ...rest
}: NewCaseProps & { opened: boolean; onClose: () => void }) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="New case" size="md">
      {(controls) => <NewCaseForm {...rest} {...controls} />}
    </FormDialog>
  );
}

function NewCaseForm({ item, onCreated, onDone, ...controls }: NewCaseProps & FormDialogControls) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm({
    initialValues: { title: '', description: '' },
    validate: { title: (title) => (title === '' ? 'Enter a title.' : null) },
  });
  const create = useMutation({
    mutationFn: (values: typeof form.values) =>
      call('createCase', { body: { ...values, items: item ? [item as NewCaseItem] : [] } }),
    onError: (error) => form.setErrors(fieldErrors(error)),
    onSuccess: async ({ id }) => {
      onDone();
      onCreated?.(id);
      await queries.invalidateQueries({ queryKey: callKey('listCases') });
      if (!item) await navigate(`/cases/${id}`);
    },
  });
  return (
    <DialogForm form={form} controls={controls} save={create} submit="Create case">
      <TextInput label="Title" data-autofocus {...form.getInputProps('title')} />
      <Textarea
        label="Description"
        description="Optional. Everyone who may read this archive can read the case."
        autosize
        minRows={3}
        maxRows={12}
        {...form.getInputProps('description')}
      />
    </DialogForm>
  );
}
