import { Button, Group, Modal, type ModalProps, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import type { UseMutationResult } from '@tanstack/react-query';
import { zod4Resolver } from 'mantine-form-zod-resolver';
import {
  createContext,
  type FormEventHandler,
  type ReactNode,
  useContext,
  useEffect,
  useLayoutEffect,
  useState,
} from 'react';
import type { z } from 'zod';
import type { ResponseOf } from '../../../../shared/routes/route.ts';
import type { RouteTable } from '../../../../shared/routes.ts';
import { type CallOptions, fieldErrors } from '../../api/client.ts';
import { useSave, type WriteName } from '../../api/useCall.ts';
import { ErrorNote } from '../feedback/ErrorNote.tsx';

/** What a dialog does for the form in it. */
interface DialogControls {
  /** Closes the dialog after the form was submitted. */
  onDone: () => void;
  /** Closes the dialog, but asks first if that would lose edits. */
  onCancel: () => void;
  /** Informs the dialog whether the form has edits. */
  onDirty: (isDirty: boolean) => void;
  /** Informs the dialog whether another one is open over it, which then takes Escape. */
  onCovered: (isCovered: boolean) => void;
}

const DialogContext = createContext<DialogControls | undefined>(undefined);

/** For a form that is always in a `FormDialog`. */
export function useFormDialog(): DialogControls {
  const controls = useContext(DialogContext);
  if (!controls) throw new Error('This form must be in a FormDialog.');
  return controls;
}

interface FormDialogProps extends Pick<ModalProps, 'opened' | 'title' | 'size'> {
  onClose: () => void;
  children: ReactNode;
}

/** A dialog with a form. It does not lose edits without asking. */
export function FormDialog({ opened, onClose, title, size, children }: FormDialogProps) {
  const [isDirty, setIsDirty] = useState(false);
  const [isCovered, setIsCovered] = useState(false);
  const [isAsking, asking] = useDisclosure(false);
  useFocusBack(opened);
  const close = () => {
    setIsDirty(false);
    asking.close();
    onClose();
  };
  const closeOrAsk = isDirty ? asking.open : close;
  return (
    <>
      <Modal
        opened={opened}
        onClose={closeOrAsk}
        title={title}
        size={size}
        closeOnClickOutside={!isDirty}
        closeOnEscape={!isCovered}
        centered={false}
      >
        <DialogContext
          value={{ onDone: close, onCancel: closeOrAsk, onDirty: setIsDirty, onCovered: setIsCovered }}
        >
          {children}
        </DialogContext>
      </Modal>
      {/* Mounted when it is asked: a mounted dialog would take the same Escape as its answer. */}
      {isAsking && <DiscardQuestion onKeep={asking.close} onDiscard={close} />}
    </>
  );
}

/**
 * A dialog that is open as long as it is mounted. It gives the focus back to what had it, as Mantine does for one that is
 * closed before it is unmounted.
 */
export function OpenModal(props: Omit<ModalProps, 'opened'>) {
  useFocusBack(true);
  return <Modal opened {...props} />;
}

function useFocusBack(opensAtOnce: boolean): void {
  const [before] = useState(() => (opensAtOnce ? document.activeElement : null));
  useEffect(() => () => void (before instanceof HTMLElement && before.focus()), [before]);
}

function DiscardQuestion({ onKeep, onDiscard }: { onKeep: () => void; onDiscard: () => void }) {
  return (
    <OpenModal onClose={onKeep} title="Discard changes?" size="sm">
      <p>The changes in this dialog have not been saved.</p>
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={onDiscard}>
          Discard
        </Button>
        <Button onClick={onKeep} data-autofocus>
          Keep editing
        </Button>
      </Group>
    </OpenModal>
  );
}

/**
 * Informs the dialog of edits, in the render that shows them. With an effect after the paint, Escape right after an edit
 * would close the dialog without asking.
 */
export function useEdits(isDirty: boolean): void {
  const { onDirty } = useFormDialog();
  useLayoutEffect(() => onDirty(isDirty), [isDirty, onDirty]);
}

interface DialogFormProps<Values extends object> {
  form: {
    isDirty: () => boolean;
    onSubmit: (send: (values: Values) => void) => FormEventHandler<HTMLFormElement>;
  };
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
  save,
  submit,
  canSubmit = true,
  hasUnsaved = false,
  children,
}: DialogFormProps<Values>) {
  const { onCancel } = useFormDialog();
  useEdits(form.isDirty() || hasUnsaved);
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

/** Errors by field. */
type FormErrors = Record<string, ReactNode>;
/** Returns the errors of the fields that have one. */
type Rules<Values> = (values: Values) => FormErrors;

interface ItemFormOptions<Values extends object, Name extends WriteName> {
  /** The route that saves the values. */
  route: Name;
  initialValues: Values;
  /** The schema of what is sent, or the errors by field. */
  validate?: z.ZodType | Rules<Values>;
  /** What is sent. */
  request: (values: Values) => CallOptions<RouteTable[Name]> | Promise<CallOptions<RouteTable[Name]>>;
  /** Runs when the dialog was closed, before anything is requested again. */
  onSaved?: (response: ResponseOf<RouteTable[Name]>, values: Values) => unknown;
  /** Whether the dialog has a next step. */
  staysOpen?: boolean;
  /** The node's errors by field, if the fields are named otherwise than in the request. */
  errorsOf?: (error: unknown, values: Values) => FormErrors;
}

export interface ItemForm<Values extends object, Name extends WriteName> {
  form: ReturnType<typeof useFields<Values>>;
  save: UseMutationResult<ResponseOf<RouteTable[Name]>, Error, Values>;
}

/**
 * A form that one write saves: its fields with their errors, also those that the node finds, and the write. Give both to
 * `DialogForm`. Saving closes the dialog.
 */
export function useItemForm<Values extends object, Name extends WriteName>({
  route,
  initialValues,
  validate,
  request,
  onSaved,
  staysOpen = false,
  errorsOf = fieldErrors,
}: ItemFormOptions<Values, Name>): ItemForm<Values, Name> {
  const dialog = useContext(DialogContext);
  const form = useFields(initialValues, typeof validate === 'function' ? validate : rulesOf(validate));
  const save = useSave<Name, Values>(route, request, {
    onSaved: (response, values) => {
      if (!staysOpen) dialog?.onDone();
      return onSaved?.(response, values);
    },
    onError: (error, values) => form.setErrors(errorsOf(error, values)),
  });
  return { form, save };
}

function useFields<Values extends object>(initialValues: Values, validate: Rules<Values>) {
  return useForm<Values, Values, FormErrors>({ initialValues, validate });
}

/** The rules of a schema, for a form with further ones. */
export function rulesOf<Values extends object>(schema: z.ZodType | undefined): Rules<Values> {
  return (values) => (schema ? zod4Resolver(schema)(Object.fromEntries(Object.entries(values))) : {});
}

interface DialogButtonsProps {
  /** The label of the submit button: `Create study`. */
  submit: string;
  isPending: boolean;
  isDisabled?: boolean;
  onCancel: () => void;
}

/** The Cancel and submit buttons of a dialog's form. */
export function DialogButtons({ submit, isPending, isDisabled, onCancel }: DialogButtonsProps) {
  return (
    <Group justify="flex-end" gap="sm">
      <Button variant="default" onClick={onCancel}>
        Cancel
      </Button>
      <Button type="submit" loading={isPending} disabled={isDisabled}>
        {submit}
      </Button>
    </Group>
  );
}

interface QuestionProps {
  opened?: boolean;
  title: string;
  /** What the answer removes or changes, and what stays. */
  children: ReactNode;
  /** The label of the button that does it. */
  answer: string;
  save: { mutate: () => void; isPending?: boolean; error?: unknown };
  /** The label of the other button, if that is what most should choose. */
  keep?: string;
  onClose: () => void;
}

/** Asks before something is removed or cannot be undone. */
export function Question({ opened = true, title, children, answer, save, keep, onClose }: QuestionProps) {
  useFocusBack(opened);
  const yes = (
    <Button key="yes" variant={keep && 'default'} loading={save.isPending} onClick={() => save.mutate()}>
      {answer}
    </Button>
  );
  const no = (
    <Button key="no" variant={keep ? undefined : 'default'} onClick={onClose}>
      {keep ?? 'Cancel'}
    </Button>
  );
  return (
    <Modal opened={opened} onClose={onClose} title={title}>
      <div>{children}</div>
      {save.error ? <ErrorNote error={save.error} /> : null}
      <Group justify="flex-end" mt="lg" gap="sm">
        {keep ? [yes, no] : [no, yes]}
      </Group>
    </Modal>
  );
}
