import { Stack } from '@mantine/core';
import { type FormEventHandler, type ReactNode, useEffect } from 'react';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import { DialogButtons } from './DialogButtons.tsx';
import type { FormDialogControls } from './FormDialog.tsx';

interface DialogFormProps<Values extends object> {
  form: {
    isDirty: () => boolean;
    onSubmit: (send: (values: Values) => void) => FormEventHandler<HTMLFormElement>;
  };
  /** The controls that `FormDialog` gives. */
  controls: Pick<FormDialogControls, 'onCancel' | 'onDirty'>;
  /** The mutation that sends the values. */
  save: { mutate: (values: Values) => void; error: Error | null; isPending: boolean };
  /** The label of the submit button: `Create study`. */
  submit: string;
  canSubmit?: boolean;
  /** Whether closing the dialog loses something, although the form was not edited. */
  hasUnsaved?: boolean;
  /** The fields. */
  children: ReactNode;
}

/** The form in a `FormDialog`: fields, the error of the last attempt, and the buttons. */
export function DialogForm<Values extends object>({
  form,
  controls: { onCancel, onDirty },
  save,
  submit,
  canSubmit = true,
  hasUnsaved = false,
  children,
}: DialogFormProps<Values>) {
  const isDirty = form.isDirty() || hasUnsaved;
  useEffect(() => onDirty(isDirty), [isDirty, onDirty]);
  return (
    <form onSubmit={form.onSubmit((values) => save.mutate(values))} noValidate>
      <Stack gap="md">
        {children}
        {save.error && <ErrorNote error={save.error} />}
        <DialogButtons
          submit={submit}
          isPending={save.isPending}
          isDisabled={!canSubmit}
          onCancel={onCancel}
        />
      </Stack>
    </form>
  );
}
