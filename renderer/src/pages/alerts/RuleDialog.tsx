import {
  Button,
  Checkbox,
  Group,
  MultiSelect,
  NumberInput,
  SegmentedControl,
  TagsInput,
  TextInput,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ALERT_PACES, type Alert, STATE_CONDITIONS } from '../../../../shared/alerts/alert.ts';
import { EVENT_TYPES } from '../../../../shared/collection/event.ts';
import { EVENT_TEXT } from '../../../../shared/collection/eventText.ts';
import { MAX_LIST_LIMIT } from '../../../../shared/limits.ts';
import { ApiProblem, call } from '../../api/client.ts';
import { useCall, useReload } from '../../api/useCall.ts';
import { CopyButton, Disclosure } from '../../components/forms/buttons.tsx';
import { DialogForm, FormDialog, OpenModal, useFormDialog } from '../../components/forms/DialogForm.tsx';
import { desktop } from '../../desktop.ts';
import { QUALITY_OPTIONS } from '../timeline/EventFilterBar.tsx';
import classes from './AlertsPage.module.css';
import {
  bodyOf,
  draftOf,
  EMPTY_DRAFT,
  fieldAt,
  type RuleDraft,
  ruleSentence,
  STATE_WORDS,
  validateRule,
  whenOf,
} from './rule.ts';

interface RuleDialogProps {
  /** The rule to edit; undefined for a new one. */
  alert: Alert | undefined;
  /** The source that a new rule is about. */
  source: string | undefined;
  nameOf: (source: string) => string;
  onClose: () => void;
}

/** Adds or changes a rule. Secrets that the node made are shown once, after saving. */
export function RuleDialog({ alert, source, nameOf, onClose }: RuleDialogProps) {
  const [saved, setSaved] = useState<Alert>();
  if (saved) return <NewSecrets alert={saved} onClose={onClose} />;
  return (
    <FormDialog opened onClose={onClose} title={alert ? 'Edit alert' : 'New alert'} size="lg">
      <RuleEditor alert={alert} source={source} nameOf={nameOf} onSaved={setSaved} />
    </FormDialog>
  );
}

type RuleFormProps = Omit<RuleDialogProps, 'onClose'> & { onSaved: (alert: Alert) => void };

function RuleEditor({ alert, source, nameOf, onSaved }: RuleFormProps) {
  const { onDone } = useFormDialog();
  const reload = useReload();
  const form = useForm<RuleDraft>({
    initialValues: alert ? draftOf(alert) : newDraft(source, nameOf),
    validate: validateRule,
  });
  const save = useMutation({
    mutationFn: (draft: RuleDraft) => {
      const body = bodyOf(draft);
      return alert ? call('changeAlert', { params: { id: alert.id }, body }) : call('addAlert', { body });
    },
    onError: (error, draft) => form.setErrors(serverFaults(error, draft)),
    onSuccess: async (rule) => {
      await reload('changeAlert');
      if (rule.to.some((target) => target.kind === 'webhook' && target.secret !== undefined)) onSaved(rule);
      else onDone();
    },
  });
  const { to } = bodyOf(form.values);
  return (
    <DialogForm form={form} save={save} submit={alert ? 'Save' : 'Add alert'}>
      <div className={`${classes.fields} stack gap-4`}>
        <RuleFields form={form} nameOf={nameOf} />
        <p className={classes.sentence} aria-live="polite">
          {ruleSentence({ when: whenOf(form.values), to, every: form.values.every }, nameOf)}
        </p>
      </div>
    </DialogForm>
  );
}

function newDraft(source: string | undefined, nameOf: (source: string) => string): RuleDraft {
  const draft = { ...EMPTY_DRAFT, desktop: desktop() !== undefined };
  return source === undefined
    ? draft
    : { ...draft, sources: [source], name: `Changes to ${nameOf(source)}`.slice(0, 200) };
}

function serverFaults(error: unknown, draft: RuleDraft): Partial<Record<keyof RuleDraft, string>> {
  if (!(error instanceof ApiProblem)) return {};
  const body = bodyOf(draft);
  const pathOf = (pointer: string) =>
    pointer
      .slice(1)
      .split('/')
      .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  return Object.fromEntries(
    (error.document.errors ?? []).map(({ path, message }) => [fieldAt(body, pathOf(path)), message]),
  );
}

/** The secrets with which receivers check the signatures. */
function NewSecrets({ alert, onClose }: { alert: Alert; onClose: () => void }) {
  const made = alert.to.flatMap((target) =>
    target.kind === 'webhook' && target.secret !== undefined ? [[target.url, target.secret] as const] : [],
  );
  return (
    <OpenModal onClose={onClose} title="Webhook secret" size="md" closeOnClickOutside={false}>
      <div className={`${classes.fields} stack gap-4`}>
        <p>
          The receiver verifies signatures with it (Standard Webhooks). Copy it now: it is not shown again.
        </p>
        {made.map(([url, secret]) => (
          <div key={url} className="stack gap-1">
            <span className="small wrap-anywhere">{url}</span>
            <span className="mono wrap-anywhere">{secret}</span>
            <CopyButton text={secret} what="the secret" />
          </div>
        ))}
        <Group justify="flex-end">
          <Button onClick={onClose}>Done</Button>
        </Group>
      </div>
    </OpenModal>
  );
}

const PACES = { at_once: 'Immediately', hourly: 'Hourly digest', daily: 'Daily digest' } as const;

/** “a check of a source fails” as a label. */
function capital(words: string): string {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** The fields of a rule: what it is about, and where to. */
function RuleFields({ form, nameOf }: { form: RuleForm; nameOf: (source: string) => string }) {
  return (
    <>
      <TextInput label="Name" data-autofocus {...form.getInputProps('name')} />
      <What form={form} nameOf={nameOf} />
      <Where form={form} />
    </>
  );
}

function What({ form, nameOf }: { form: RuleForm; nameOf: (source: string) => string }) {
  return (
    <fieldset>
      <legend>What</legend>
      <MultiSelect
        label="A source"
        placeholder={form.values.event_types.length === 0 ? 'No events' : ''}
        data={EVENT_TYPES.map((value) => ({ value, label: EVENT_TEXT[value].happens }))}
        clearable
        clearButtonProps={{ 'aria-label': 'Clear event types' }}
        {...form.getInputProps('event_types')}
      />
      <EventFilters form={form} nameOf={nameOf} />
      {form.values.event_types.length > 0 && <WatchedConditions form={form} />}
      <Checkbox
        label="Exclude noise"
        description="Changes that noise rules explain. Changes outside the watched part never alert, unless their label is chosen."
        {...form.getInputProps('not_noise', { type: 'checkbox' })}
      />
      <Checkbox.Group label="Also when" {...form.getInputProps('states')}>
        <div className={`${classes.pair} stack gap-4`}>
          {STATE_CONDITIONS.map((condition) => (
            <Checkbox key={condition} value={condition} label={capital(STATE_WORDS[condition])} />
          ))}
        </div>
      </Checkbox.Group>
    </fieldset>
  );
}

const NUMBER_FIELDS = [
  ['above', 'First number is above'],
  ['below', 'First number is below'],
  ['changed_by', 'It changed by at least'],
] as const;

/** What must be true within the part of a source that is watched. */
function WatchedConditions({ form }: { form: RuleForm }) {
  return (
    <>
      <Disclosure
        title="Conditions on the watched part"
        isUsed={WATCHED_FIELDS.some((field) => form.values[field].length > 0)}
        isWrong={WATCHED_FIELDS.some((field) => form.errors[field] !== undefined)}
      >
        <div className="stack gap-4">
          <p className="small muted">
            The part is set on the page of the source. Without one, these apply to all of it.
          </p>
          <div className={`${classes.pair} stack gap-4`}>
            {NUMBER_FIELDS.map(([name, label]) => (
              <NumberInput
                key={name}
                label={label}
                placeholder="Any"
                hideControls
                {...form.getInputProps(name)}
                onChange={(value) => form.setFieldValue(name, String(value))}
              />
            ))}
            <TextInput
              label="Pattern that newly matches"
              placeholder="A regular expression (RE2)"
              spellCheck={false}
              autoComplete="off"
              {...form.getInputProps('pattern')}
            />
            <TagsInput
              label="Words that appear"
              placeholder={form.values.appears.length === 0 ? 'Any' : ''}
              splitChars={[]}
              {...form.getInputProps('appears')}
            />
            <TagsInput
              label="Words that disappear"
              placeholder={form.values.disappears.length === 0 ? 'Any' : ''}
              splitChars={[]}
              {...form.getInputProps('disappears')}
            />
          </div>
        </div>
      </Disclosure>
      <Checkbox
        label="Confirm changes"
        description="Fetches the source again after 30 seconds and alerts only if the change still stands."
        {...form.getInputProps('confirm', { type: 'checkbox' })}
      />
    </>
  );
}

const WATCHED_FIELDS = ['above', 'below', 'changed_by', 'pattern', 'appears', 'disappears'] as const;

function Where({ form }: { form: RuleForm }) {
  const settings = useCall('readSettings');
  const needsMail = form.values.addresses.length > 0 && settings.data?.smtp === null;
  return (
    <fieldset>
      <legend>Send to</legend>
      <Checkbox
        label="Desktop notification"
        description={
          desktop()
            ? 'Shown on this machine while the app is running.'
            : 'Shown by the desktop app. A notification waits up to one day for the app to open.'
        }
        {...form.getInputProps('desktop', { type: 'checkbox' })}
      />
      <TagsInput
        label="E-mail addresses"
        description={
          needsMail ? 'No mail server yet. Set one up on the Alerts page.' : 'Press Enter after each address.'
        }
        {...form.getInputProps('addresses')}
      />
      <TagsInput
        label="Webhooks"
        description="https://… Requests are signed (Standard Webhooks)."
        splitChars={[]}
        {...form.getInputProps('urls')}
      />
      {form.values.urls.length > 0 && (
        <Checkbox
          label="Allow webhooks on this machine and on private networks"
          {...form.getInputProps('allow_private', { type: 'checkbox' })}
        />
      )}
      <SegmentedControl
        aria-label="How soon"
        data={ALERT_PACES.map((value) => ({ value, label: PACES[value] }))}
        {...form.getInputProps('every')}
      />
    </fieldset>
  );
}

/** The form of a rule, as far as its fields use it. */
type RuleForm = Pick<
  ReturnType<typeof useForm<RuleDraft>>,
  'getInputProps' | 'setFieldValue' | 'errors' | 'values'
>;

/** To which events of which sources a rule is limited. */
function EventFilters({ form, nameOf }: { form: RuleForm; nameOf: (source: string) => string }) {
  const { data } = useCall('listSources', { query: { limit: MAX_LIST_LIMIT } });
  const sources = data?.items ?? [];
  const known = new Set(sources.map(({ id }) => id));
  const listed = [...sources.map(({ id }) => id), ...form.values.sources.filter((id) => !known.has(id))];
  const used = (values: string[]) => [...new Set(values)].filter(Boolean).sort();
  return (
    <div className={`${classes.pair} stack gap-4`}>
      <MultiSelect
        label="Only these sources"
        placeholder={form.values.sources.length === 0 ? 'Any' : undefined}
        data={listed.map((value) => ({ value, label: nameOf(value) }))}
        searchable
        {...form.getInputProps('sources')}
      />
      <TagsInput
        label="Only with a tag"
        placeholder={form.values.tags.length === 0 ? 'Any' : ''}
        data={used(sources.flatMap(({ tags }) => tags))}
        {...form.getInputProps('tags')}
      />
      <TagsInput
        label="Only from an agency"
        placeholder={form.values.agencies.length === 0 ? 'Any' : ''}
        data={used(sources.map(({ agency }) => agency))}
        {...form.getInputProps('agencies')}
      />
      <TagsInput
        label="Only with words"
        placeholder={form.values.words.length === 0 ? 'Any' : ''}
        description="In the text added or removed. Press Enter after each word or phrase."
        splitChars={[]}
        {...form.getInputProps('words')}
      />
      <MultiSelect
        label="Only with a quality label"
        placeholder={form.values.labels.length === 0 ? 'Any' : ''}
        description="To exclude bot checks, choose all other options."
        data={QUALITY_OPTIONS.filter(({ value }) => value !== 'any' || form.values.labels.includes('any'))}
        {...form.getInputProps('labels')}
      />
    </div>
  );
}
