import { Button, NumberInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { DEFAULT_SETTINGS, type Settings } from '../../../../shared/node/settings.ts';
import { call } from '../../api/client.ts';
import { fieldErrors } from '../../api/fieldErrors.ts';
import { callKey } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { LeaveGuard } from '../../components/forms/LeaveGuard.tsx';
import classes from './SettingsPage.module.css';
import { SETTING_GROUPS, type SettingField, type SettingGroup } from './settingFields.ts';
import { defaultText, formSchema, settingsOf, type Typed, typedOf } from './settingText.ts';

/** The first error of each setting by its name. An error in one of the delays is shown at the list. */
function faultsOf(typed: Typed): Record<string, string> {
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

/** The first invalid field may be out of sight. */
function goToFirst(faults: Record<string, unknown>): void {
  const first = SETTING_GROUPS.flatMap(({ fields }) => fields).find(({ name }) => name in faults);
  document.getElementById(first?.name ?? '')?.focus();
}

/** Ids must not contain spaces: aria-labelledby separates ids by spaces. */
function headingId({ title }: SettingGroup): string {
  return `settings-${title.replaceAll(' ', '-')}`;
}

/** The form for the settings, and the mutation that saves them. Only changed values are sent. */
function useSettingsForm(settings: Settings) {
  const queries = useQueryClient();
  const form = useForm<Typed>({
    initialValues: typedOf(settings),
    validate: faultsOf,
    validateInputOnBlur: true,
  });
  const save = useMutation({
    mutationFn: (typed: Typed) => {
      const next = formSchema.parse(settingsOf(typed));
      // Compared with what the form began with: a setting that another window changed meanwhile stays.
      const before: Record<string, unknown> = formSchema.parse(settingsOf(form.getInitialValues()));
      const changed = Object.entries(next).filter(
        ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
      );
      return call('changeSettings', { body: Object.fromEntries(changed) });
    },
    onError: (error) => form.setErrors(fieldErrors(error)),
    onSuccess: (next, sent) => {
      const typedSince = Object.entries(form.getValues()).filter(
        ([name, text]) => text !== sent[name as keyof Typed],
      );
      queries.setQueryData(callKey('readSettings', {}), next);
      form.setInitialValues(typedOf(next));
      form.reset();
      form.setValues(Object.fromEntries(typedSince));
      notifications.show({ message: 'Settings saved.' });
    },
  });
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

/** The node's settings. */
export function SettingsForm({ settings }: { settings: Settings }) {
  const { form, save, saveBeforeLeaving } = useSettingsForm(settings);
  return (
    <form onSubmit={form.onSubmit((typed) => save.mutate(typed), goToFirst)} noValidate>
      <LeaveGuard isDirty={form.isDirty()} isSaving={save.isPending} onSave={saveBeforeLeaving} />
      {SETTING_GROUPS.map((group) => (
        <SettingsSection key={group.title} group={group} inputOf={form.getInputProps} />
      ))}
      {save.error && <ErrorNote error={save.error} />}
      {form.isDirty() && (
        <div className={classes.save}>
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

interface SettingsSectionProps {
  group: SettingGroup;
  inputOf: ReturnType<typeof useForm<Typed>>['getInputProps'];
}

function SettingsSection({ group, inputOf }: SettingsSectionProps) {
  return (
    <section className={classes.group} aria-labelledby={headingId(group)}>
      <div>
        <h2 id={headingId(group)}>{group.title}</h2>
        <p className="muted small">{group.meaning}</p>
      </div>
      <div className={classes.fields}>
        {group.fields.map((field) => (
          <SettingRow key={field.name} field={field} input={inputOf(field.name)} />
        ))}
      </div>
    </section>
  );
}

interface SettingRowProps {
  field: SettingField;
  input: ReturnType<SettingsSectionProps['inputOf']>;
}

function SettingRow({ field, input }: SettingRowProps) {
  const { name, label, meaning, unit, isWide, isOptional } = field;
  const standard = DEFAULT_SETTINGS[name];
  const hint = `Default ${defaultText(name)}`;
  const shared = {
    ...input,
    id: name,
    'aria-describedby': `${name}-meaning`,
    className: classes.control,
  };
  const withUnit = {
    rightSection: <span className={`${classes.unit} muted small`}>{unit}</span>,
    rightSectionWidth: 76,
    rightSectionPointerEvents: 'none' as const,
  };
  return (
    <div className={isWide ? `${classes.row} ${classes.wide}` : classes.row}>
      <label htmlFor={name}>
        {label}
        <span className={`${classes.meaning} muted small`} id={`${name}-meaning`}>
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
