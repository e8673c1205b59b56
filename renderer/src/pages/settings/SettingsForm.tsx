import { Button, Group, Modal, NumberInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { type ReactNode, useEffect, useId } from 'react';
import { useBlocker } from 'react-router';
import type { SettingPage } from '../../../../shared/node/pages.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../../../shared/node/settings.ts';
import { fieldErrors } from '../../api/client.ts';
import { useSave } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { desktop } from '../../desktop.ts';
import classes from './SettingsPage.module.css';
import {
  defaultText,
  formSchema,
  SETTING_GROUPS,
  type SettingField,
  type SettingGroup,
  settingsOf,
  type Typed,
  typedOf,
} from './settingFields.ts';

/** The first error of each setting by its name. An error in one of the delays is shown at the list. */
function validateSettings(typed: Typed): Record<string, string> {
  const { error } = formSchema.safeParse(settingsOf(typed));
  return Object.fromEntries(
    (error?.issues ?? [])
      .toReversed()
      .map(({ path, message }) => [
        String(path[0]),
        message.startsWith('Invalid input') ? 'Enter a number.' : message,
      ]),
  );
}

/** The form for the settings, and the mutation that saves them. Only changed values are sent. */
function useSettingsForm(settings: Settings, goToFirst: (errors: Record<string, unknown>) => void) {
  const form = useForm<Typed>({
    initialValues: typedOf(settings),
    validate: validateSettings,
    validateInputOnBlur: true,
  });
  const save = useSave(
    'changeSettings',
    (typed: Typed) => {
      const next = formSchema.parse(settingsOf(typed));
      // Compared with what the form began with: a setting that another window changed meanwhile stays.
      const before: Record<string, unknown> = formSchema.parse(settingsOf(form.getInitialValues()));
      const changed = Object.entries(next).filter(
        ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
      );
      return { body: Object.fromEntries(changed) };
    },
    {
      onError: (error) => form.setErrors(fieldErrors(error)),
      onSaved: (next, sent) => {
        const typedSince = Object.entries(form.getValues()).filter(
          ([name, text]) => text !== sent[name as keyof Typed],
        );
        form.setInitialValues(typedOf(next));
        form.reset();
        form.setValues(Object.fromEntries(typedSince));
        notifications.show({ message: 'Settings saved.' });
      },
    },
  );
  const saveBeforeLeaving = () =>
    new Promise<boolean>((resolve) => {
      const { hasErrors, errors } = form.validate();
      if (hasErrors) {
        // After the question has closed and given the focus back.
        setTimeout(() => goToFirst(errors));
        resolve(false);
        return;
      }
      save.mutate(form.values, { onSuccess: () => resolve(true), onError: () => resolve(false) });
    });
  return { form, save, saveBeforeLeaving };
}

interface SettingsFormProps {
  settings: Settings;
  /** The groups that are shown. The form has the values of all. */
  groups: readonly SettingGroup[];
  /** The field that takes the focus when it appears. */
  focused: string | undefined;
  /** Opens a page of the settings at a field. */
  onOpen: (page: SettingPage, field: string) => void;
}

/** The node's settings. */
export function SettingsForm({ settings, groups, focused, onOpen }: SettingsFormProps) {
  // The first invalid field may be out of sight, or on another page.
  const goToFirst = (errors: Record<string, unknown>) => {
    const group = SETTING_GROUPS.find(({ fields }) => fields.some(({ name }) => name in errors));
    const first = group?.fields.find(({ name }) => name in errors)?.name;
    if (!group || first === undefined) return;
    const field = document.getElementById(first);
    if (field) return field.focus();
    onOpen(group.page, first);
  };
  const { form, save, saveBeforeLeaving } = useSettingsForm(settings, goToFirst);
  return (
    <form onSubmit={form.onSubmit((typed) => save.mutate(typed), goToFirst)} noValidate>
      <LeaveGuard isDirty={form.isDirty()} isSaving={save.isPending} onSave={saveBeforeLeaving} />
      {groups.map((group) => (
        <SettingsSection key={group.title} group={group} inputOf={form.getInputProps} focused={focused} />
      ))}
      {save.error && <ErrorNote error={save.error} />}
      {form.isDirty() && (
        <div className={`${classes.save} line gap-3 to-end`}>
          <span>Unsaved changes</span>
          <Button variant="default" onClick={() => form.reset()}>
            Undo
          </Button>
          <Button type="submit" loading={save.isPending}>
            Save
          </Button>
        </div>
      )}
    </form>
  );
}

interface SettingsGroupProps {
  /** The fragment that leads to it. */
  id?: string;
  title: string;
  /** What is set here, below the title. */
  meaning: ReactNode;
  children: ReactNode;
}

/** A group of the settings: what it is about on the left, its fields on the right. */
export function SettingsGroup({ id, title, meaning, children }: SettingsGroupProps) {
  const heading = useId();
  return (
    <section id={id} className={classes.group} aria-labelledby={heading}>
      <div>
        <h2 id={heading}>{title}</h2>
        <p className="muted small">{meaning}</p>
      </div>
      <div className={`${classes.fields} stack gap-4`}>{children}</div>
    </section>
  );
}

interface SettingsSectionProps {
  group: SettingGroup;
  inputOf: ReturnType<typeof useForm<Typed>>['getInputProps'];
  /** The field that takes the focus when it appears. */
  focused: string | undefined;
}

function SettingsSection({ group, inputOf, focused }: SettingsSectionProps) {
  return (
    <SettingsGroup title={group.title} meaning={group.meaning}>
      {group.fields.map((field) => (
        <SettingRow
          key={field.name}
          field={field}
          input={inputOf(field.name)}
          isFocused={field.name === focused}
        />
      ))}
    </SettingsGroup>
  );
}

interface SettingRowProps {
  field: SettingField;
  input: ReturnType<SettingsSectionProps['inputOf']>;
  isFocused: boolean;
}

function SettingRow({ field, input, isFocused }: SettingRowProps) {
  const { name, label, meaning, unit, isWide, isOptional } = field;
  const standard = DEFAULT_SETTINGS[name];
  const hint = `Default ${defaultText(name)}`;
  const shared = {
    ...input,
    id: name,
    autoFocus: isFocused,
    'aria-describedby': `${name}-meaning`,
    className: classes.control,
  };
  const withUnit = {
    rightSection: <span className={`${classes.unit} full text-end muted small`}>{unit}</span>,
    rightSectionWidth: 76,
    rightSectionPointerEvents: 'none' as const,
  };
  return (
    <div
      className={
        isWide ? `${classes.row} grid gap-5 start ${classes.wide}` : `${classes.row} grid gap-5 start`
      }
    >
      <label htmlFor={name}>
        {label}
        <span className="block regular muted small" id={`${name}-meaning`}>
          {meaning} {hint}.
        </span>
      </label>
      {typeof standard === 'number' || isOptional ? (
        <NumberInput {...shared} {...withUnit} hideControls thousandSeparator="," />
      ) : (
        <TextInput {...shared} {...(unit && withUnit)} />
      )}
    </div>
  );
}

interface LeaveGuardProps {
  /** Whether the form has edits that leaving would lose. */
  isDirty: boolean;
  isSaving: boolean;
  /** Saves the edits. Resolves with false if they were refused; the form then says why. */
  onSave: () => Promise<boolean>;
}

/** Asks before a page with unsaved edits is left, in the interface or by closing the tab. */
function LeaveGuard({ isDirty, isSaving, onSave }: LeaveGuardProps) {
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => isDirty && currentLocation.pathname !== nextLocation.pathname,
  );
  useAskBeforeUnload(isDirty);
  const isAsking = blocker.state === 'blocked';
  const save = async () => {
    const isSaved = await onSave();
    if (isSaved) blocker.proceed?.();
    else blocker.reset?.();
  };
  return (
    <Modal opened={isAsking} onClose={() => blocker.reset?.()} title="Unsaved changes">
      <p>Save the changes on this page before you leave it?</p>
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="subtle" onClick={() => blocker.reset?.()}>
          Keep editing
        </Button>
        <Button variant="default" onClick={() => blocker.proceed?.()}>
          Discard
        </Button>
        <Button onClick={() => void save()} loading={isSaving} data-autofocus>
          Save
        </Button>
      </Group>
    </Modal>
  );
}

/** Not in the desktop window: Electron would refuse to close it without a word. */
function useAskBeforeUnload(isDirty: boolean): void {
  useEffect(() => {
    if (!isDirty || desktop()) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [isDirty]);
}
