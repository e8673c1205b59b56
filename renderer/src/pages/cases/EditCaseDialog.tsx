import { Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { Case } from '../../../../shared/findings/case.ts';
import { fieldErrors } from '../../api/fieldErrors.ts';
import { DialogForm } from '../../components/forms/DialogForm.tsx';
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

function EditCaseForm({ shown, onDone, ...controls }: { shown: Case } & FormDialogControls) {
  const form = useForm({
    initialValues: { title: shown.title, description: shown.description },
    validate: { title: (title) => (title === '' ? 'Enter a title.' : null) },
  });
  const change = useChangeCase(shown);
  const save = {
    ...change,
    mutate: (values: typeof form.values) =>
      change.mutate(values, {
        onSuccess: onDone,
        onError: (error) => form.setErrors(fieldErrors(error)),
      }),
  };
  return (
    <DialogForm form={form} controls={controls} save={save} submit="Save">
      <TextInput label="Title" data-autofocus {...form.getInputProps('title')} />
      <Textarea
        label="Description"
        autosize
        minRows={3}
        maxRows={12}
        {...form.getInputProps('description')}
      />
    </DialogForm>
  );
}
