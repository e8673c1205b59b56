import { Checkbox, SegmentedControl, Select, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import {
  type ActiveHours,
  type Schedule,
  WEEKDAYS,
  type Weekday,
} from '../../../../shared/collection/schedule.ts';
import { useCall } from '../../api/useCall.ts';
import { IntervalInput } from '../../components/forms/pickers.tsx';
import { intervalText } from '../../format.ts';
import { type DraftProps, inputsOf, type ScheduleDraft, scheduleOf } from './sourceForm.ts';

/** When a source is checked: an interval or the times of a cron expression, and the hours in which it may be. */
export function ScheduleFields(fields: DraftProps<ScheduleDraft>) {
  const { draft, onChange } = fields;
  const input = inputsOf(fields);
  const { data: settings } = useCall('readSettings');
  const everyMinutes = settings?.collection_every_minutes;
  return (
    <div className="stack gap-4">
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
              ? 'Default: the node’s setting.'
              : `Default: ${intervalText(everyMinutes)}, the node’s setting.`
          }
          {...input.value('every_minutes')}
        />
      ) : (
        <TextInput
          label="Times"
          description="A cron expression: minute, hour, day, month, weekday. “0 8 * * 1-5” is 8:00 from Monday to Friday."
          placeholder="0 8 * * 1-5"
          {...input.text('every')}
          autoComplete="off"
          spellCheck={false}
        />
      )}
      {draft.by === 'times' && <ZoneSelect label="Time zone of the times" {...input.value('time_zone')} />}
      <Checkbox
        label="Only during active hours"
        description="Scheduled checks run only then. “Check now” always works."
        {...input.checkbox('has_hours')}
      />
      {draft.has_hours && <HoursFields {...fields} />}
      {everyMinutes !== undefined && <NextTimes schedule={scheduleOf(draft)} everyMinutes={everyMinutes} />}
    </div>
  );
}

function HoursFields(fields: DraftProps<ScheduleDraft>) {
  const { draft, errors, onChange } = fields;
  const input = inputsOf(fields);
  return (
    <>
      <div className="stack columns-narrow gap-4 start">
        <TextInput type="time" label="From" {...input.text('hours_from')} />
        <TextInput type="time" label="To" {...input.text('hours_to')} />
      </div>
      <Checkbox.Group
        label="Days"
        description="Default: every day."
        value={draft.hours_days}
        error={errors.hours_days}
        onChange={(days) => onChange({ hours_days: WEEKDAYS.filter((day) => days.includes(day)) })}
      >
        <div className="mt-2 cluster stretch gap-4">
          {WEEKDAYS.map((day) => (
            <Checkbox key={day} value={day} label={DAY_WORDS[day]} size="xs" />
          ))}
        </div>
      </Checkbox.Group>
      <ZoneSelect label="Time zone of the hours" {...input.value('hours_zone')} />
    </>
  );
}

const ZONES = Intl.supportedValuesOf('timeZone');

interface ZoneSelectProps {
  label: string;
  value: string;
  error: string | undefined;
  onChange: (zone: string) => void;
}

function ZoneSelect({ label, value, error, onChange }: ZoneSelectProps) {
  // A zone may have several names, of which the browser lists one.
  const zones = [...new Set([value, 'UTC', ...ZONES])];
  return (
    <Select
      label={label}
      data={zones}
      searchable
      limit={60}
      allowDeselect={false}
      nothingFoundMessage="No time zone matches."
      value={value}
      error={error}
      onChange={(zone) => zone && onChange(zone)}
    />
  );
}

const SHOWN = 4;

/** The times at which a source would be checked next, computed as the node computes them. */
function NextTimes({ schedule, everyMinutes }: { schedule: Schedule; everyMinutes: number }) {
  const { data } = useQuery({
    queryKey: ['nextTimes', schedule, everyMinutes],
    queryFn: () => nextTimesOf(schedule, everyMinutes),
    placeholderData: (previous) => previous,
    gcTime: 0,
  });
  if (!data) return null;
  const zone = zoneOf(schedule);
  const about = schedule.every === null ? 'about ' : '';
  return (
    <p className="hint compact" aria-live="polite">
      {'problem' in data ? (
        data.problem
      ) : (
        <>
          <span className="muted">Next checks{zone && ` (${zone})`}: </span>
          {about}
          {data.times.map((at, index) => (
            <span key={at}>
              {index > 0 && ' · '}
              <span className="numeric nowrap">{scheduledTime(at, zone)}</span>
            </span>
          ))}
        </>
      )}
    </p>
  );
}

async function nextTimesOf(
  schedule: Schedule,
  everyMinutes: number,
): Promise<{ times: number[] } | { problem: string }> {
  // Loaded when it is first shown: the parser is not part of the page.
  const { CronError, nextTimes } = await import('../../../../shared/collection/nextTimes.ts');
  if (schedule.every === '') return { problem: 'Enter the times to see the next checks.' };
  try {
    const times = nextTimes(schedule, everyMinutes, { from: Date.now(), count: SHOWN });
    return times.length > 0
      ? { times }
      : { problem: 'This is never due. Change the times or the active hours.' };
  } catch (error) {
    if (error instanceof CronError) return { problem: error.message };
    // Hours or a zone that are not complete yet.
    if (error instanceof RangeError || error instanceof TypeError)
      return { problem: 'Complete the active hours.' };
    throw error;
  }
}

const DAY_WORDS: Readonly<Record<Weekday, string>> = {
  mon: 'Mon',
  tue: 'Tue',
  wed: 'Wed',
  thu: 'Thu',
  fri: 'Fri',
  sat: 'Sat',
  sun: 'Sun',
};

/** Active hours in words: `08:00–18:00, Mon, Tue (Europe/Berlin)`. */
export function hoursText({ from, to, days, time_zone }: ActiveHours): string {
  const on = days && WEEKDAYS.filter((day) => days.includes(day)).map((day) => DAY_WORDS[day]);
  return `${from}–${to}${on ? `, ${on.join(', ')}` : ''} (${time_zone})`;
}

/** The time zone that the times of a schedule are shown in; undefined for the person's own. */
export function zoneOf({ every, time_zone, active_hours }: Schedule): string | undefined {
  if (every === null) return active_hours?.time_zone;
  return time_zone ?? active_hours?.time_zone ?? 'UTC';
}

/** A time of a schedule: `Mon 23 Nov, 08:00`. */
function scheduledTime(at: number, zone: string | undefined): string {
  return new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone: zone,
  }).format(at);
}
