import { Stack, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useEffect } from 'react';
import type { Case } from '../../../../shared/findings/case.ts';
import { fieldErrors } from '../../api/fieldErrors.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { DialogButtons } from '../../components/forms/DialogButtons.tsx';
import { FormDialog, type FormDialogControls } from '../../components/forms/FormDialog.tsx';
import { useChangeCase } from './useChangeCase.ts';

export interface EditCaseDialogProps {
  shown: Case;
  opened: boolean;
  onClose: () => void;
}

/** Changes the title and the description of a case. */
export function EditCaseDialog({ shown, opened, onClose }: EditCaseDialogProps) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Edit case" size="md">
      {(controls) => <EditCaseForm shown={shown} {...controls} />}
    </FormDialog>
  );
}

function EditCaseForm({ shown, onDone, onCancel, onDirty }: { shown: Case } & FormDialogControls) {
  const form = useForm({
    initialValues: { title: shown.title, description: shown.description },
    validate: { title: (title) => (title === '' ? 'Enter a title.' : null) },
  });
  const isDirty = form.isDirty();
  useEffect(() => onDirty(isDirty), [isDirty, onDirty]);
  const change = useChangeCase(shown);
  return (
    <form
      onSubmit={form.onSubmit((values) =>
        change.mutate(values, {
          onSuccess: onDone,
          onError: (error) => form.setErrors(fieldErrors(error)),
        }),
      )}
    >
      <Stack gap="md">
        <TextInput label="Title" data-autofocus {...form.getInputProps('title')} />
        <Textarea
          label="Description"
          autosize
          minRows={3}
          maxRows={12}
          {...form.getInputProps('description')}
        />
        {change.error && <ErrorNote error={change.error} />}
        <DialogButtons submit="Save" isPending={change.isPending} onCancel={onCancel} />
      </Stack>
    </form>
  );
}
