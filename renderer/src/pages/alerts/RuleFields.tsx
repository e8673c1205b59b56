import { Checkbox, MultiSelect, SegmentedControl, TagsInput, TextInput } from '@mantine/core';
import { ALERT_PACES, STATE_CONDITIONS } from '../../../../shared/alerts/alert.ts';
import { EVENT_TYPES } from '../../../../shared/collection/event.ts';
import { useCall } from '../../api/useCall.ts';
import { desktop } from '../../desktop.ts';
import classes from './AlertsPage.module.css';
import { EventFilters, type RuleForm } from './EventFilters.tsx';
import { EVENT_WORDS, STATE_WORDS } from './ruleSentence.ts';

const PACES = { at_once: 'At once', hourly: 'Hourly digest', daily: 'Daily digest' } as const;

/** “a check of a source fails” as a label. */
function capital(words: string): string {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** The fields of a rule: what it is about, and where to. */
export function RuleFields({ form, nameOf }: { form: RuleForm; nameOf: (source: string) => string }) {
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
        data={EVENT_TYPES.map((value) => ({ value, label: EVENT_WORDS[value] }))}
        clearable
        clearButtonProps={{ 'aria-label': 'Clear event types' }}
        {...form.getInputProps('event_types')}
      />
      <EventFilters form={form} nameOf={nameOf} />
      <Checkbox
        label="Leave out noise"
        description="Changes that the noise rules of a source cover."
        {...form.getInputProps('not_noise', { type: 'checkbox' })}
      />
      <Checkbox.Group label="Also when" {...form.getInputProps('states')}>
        <div className={classes.pair}>
          {STATE_CONDITIONS.map((condition) => (
            <Checkbox key={condition} value={condition} label={capital(STATE_WORDS[condition])} />
          ))}
        </div>
      </Checkbox.Group>
    </fieldset>
  );
}

function Where({ form }: { form: RuleForm }) {
  const settings = useCall('readSettings');
  const needsMail = form.values.addresses.length > 0 && settings.data?.smtp === null;
  return (
    <fieldset>
      <legend>Where to</legend>
      <Checkbox
        label="A notification on the desktop"
        description={
          desktop()
            ? 'Shown on this machine while the app runs.'
            : 'Needs the desktop app: a browser cannot show it. It waits up to a day for the app.'
        }
        {...form.getInputProps('desktop', { type: 'checkbox' })}
      />
      <TagsInput
        label="E-mail addresses"
        description={
          needsMail
            ? 'There is no mail server yet. Set it below on the page Alerts.'
            : 'Enter after each address.'
        }
        acceptValueOnBlur
        {...form.getInputProps('addresses')}
      />
      <TagsInput
        label="Webhooks"
        description="https://… Calls are signed as Standard Webhooks says."
        acceptValueOnBlur
        splitChars={[]}
        {...form.getInputProps('urls')}
      />
      {form.values.urls.length > 0 && (
        <Checkbox
          label="Allow webhooks on this machine and in private networks"
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
