import { Checkbox, SegmentedControl, Select, TextInput } from '@mantine/core';
import { WEEKDAYS } from '../../../../../shared/collection/schedule/scheduleFields.ts';
import { useCall } from '../../../api/useCall.ts';
import { IntervalInput } from '../../../components/forms/IntervalInput.tsx';
import { intervalText } from '../../../format/interval.ts';
import { NextTimes } from './NextTimes.tsx';
import classes from './ScheduleFields.module.css';
import { type ScheduleDraft, scheduleOf } from './scheduleDraft.ts';
import { DAY_WORDS } from './scheduleText.ts';

export interface ScheduleFieldsProps {
  draft: ScheduleDraft;
  errors: Partial<Record<keyof ScheduleDraft, string>>;
  onChange: (change: Partial<ScheduleDraft>) => void;
}

/** When a source is checked: an interval or the times of a cron expression, and the hours in which it may be. */
export function ScheduleFields({ draft, errors, onChange }: ScheduleFieldsProps) {
  const { data: settings } = useCall('readSettings');
  const everyMinutes = settings?.collection_every_minutes;
  return (
    <div className={classes.fields}>
      <SegmentedControl
        aria-label="When the source is checked"
        data={[
          { value: 'interval', label: 'At an interval' },
          { value: 'times', label: 'At set times' },
        ]}
        value={draft.by}
        onChange={(by) => onChange({ by: by === 'times' ? 'times' : 'interval' })}
      />
      {draft.by === 'interval' ? (
        <IntervalInput
          label="Check every"
          description={
            everyMinutes === undefined
              ? 'Empty: node default.'
              : `Empty: node default (${intervalText(everyMinutes)}).`
          }
          value={draft.every_minutes}
          error={errors.every_minutes}
          onChange={(minutes) => onChange({ every_minutes: minutes })}
        />
      ) : (
        <TextInput
          label="Times"
          description="A cron expression: minute, hour, day, month, weekday. “0 8 * * 1-5” is 8:00 from Monday to Friday."
          placeholder="0 8 * * 1-5"
          value={draft.every}
          error={errors.every}
          onChange={(event) => onChange({ every: event.currentTarget.value })}
          autoComplete="off"
          spellCheck={false}
        />
      )}
      <Checkbox
        label="Only within active hours"
        description="Outside them the source is not checked on schedule. “Check now” always works."
        checked={draft.has_hours}
        onChange={(event) => onChange({ has_hours: event.currentTarget.checked })}
      />
      {draft.has_hours && <HoursFields draft={draft} errors={errors} onChange={onChange} />}
      {(draft.has_hours || draft.by === 'times') && (
        <ZoneSelect
          value={draft.time_zone}
          error={errors.time_zone}
          onChange={(time_zone) => onChange({ time_zone })}
        />
      )}
      {everyMinutes !== undefined && <NextTimes schedule={scheduleOf(draft)} everyMinutes={everyMinutes} />}
    </div>
  );
}

function HoursFields({ draft, errors, onChange }: ScheduleFieldsProps) {
  return (
    <>
      <div className={classes.pair}>
        <TextInput
          type="time"
          label="From"
          value={draft.hours_from}
          error={errors.hours_from}
          onChange={(event) => onChange({ hours_from: event.currentTarget.value })}
        />
        <TextInput
          type="time"
          label="To"
          value={draft.hours_to}
          error={errors.hours_to}
          onChange={(event) => onChange({ hours_to: event.currentTarget.value })}
        />
      </div>
      <Checkbox.Group
        label="Days"
        description="None chosen: every day."
        value={draft.hours_days}
        error={errors.hours_days}
        onChange={(days) => onChange({ hours_days: WEEKDAYS.filter((day) => days.includes(day)) })}
      >
        <div className={classes.days}>
          {WEEKDAYS.map((day) => (
            <Checkbox key={day} value={day} label={DAY_WORDS[day]} size="xs" />
          ))}
        </div>
      </Checkbox.Group>
    </>
  );
}

const ZONES = Intl.supportedValuesOf('timeZone');

interface ZoneSelectProps {
  value: string;
  error: string | undefined;
  onChange: (zone: string) => void;
}

function ZoneSelect({ value, error, onChange }: ZoneSelectProps) {
  // A zone may have several names, of which the browser lists one.
  const zones = [...new Set([value, 'UTC', ...ZONES])];
  return (
    <Select
      label="Time zone"
      data={zones}
      searchable
      limit={60}
      allowDeselect={false}
      nothingFoundMessage="There is no such time zone."
      value={value}
      error={error}
      onChange={(zone) => zone && onChange(zone)}
    />
  );
}
