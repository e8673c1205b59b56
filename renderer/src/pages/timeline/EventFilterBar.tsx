import { Autocomplete, Checkbox, CloseButton, TextInput } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconAdjustmentsHorizontal } from '@tabler/icons-react';
import { useState } from 'react';
import { EVENT_TYPES, LABEL_FILTERS, type LabelFilter } from '../../../../shared/collection/event.ts';
import { SELF } from '../../../../shared/collection/observers.ts';
import { useCall } from '../../api/useCall.ts';
import { STATES } from '../../components/data/states.ts';
import { IconButton } from '../../components/forms/buttons.tsx';
import {
  FilterSelect,
  type Filters,
  SearchField,
  type UrlFilters,
  useFirstUse,
} from '../../components/forms/filters.tsx';
import type { Zone } from '../../state/displaySettings.ts';
import { useIsOwner } from '../../state/session.ts';
import { useAgenciesAndTags } from '../sources/useSources.ts';
import classes from './Timeline.module.css';

const TYPE_OPTIONS = EVENT_TYPES.map((value) => ({ value, label: STATES.event[value].label }));

/** The filters of the timeline, kept in the URL. */
export function EventFilterBar({ filters }: { filters: UrlFilters<EventFilterName> }) {
  const { values, set } = filters;
  const narrow = useMediaQuery('(max-width: 47.99em)');
  const [opened, setOpened] = useState(false);
  const { isUsed, props } = useFirstUse();
  const { q: _q, ...others } = values;
  const count = Object.values(others).filter(Boolean).length;
  return (
    <search className="cluster gap-2" {...props}>
      <div className={`${classes.search} line gap-2 stretch grow`}>
        <SearchField
          label="Search events"
          placeholder="URL, name, tag, digest"
          value={values.q ?? ''}
          onChange={(q) => set({ q })}
        />
        {narrow && (
          <IconButton
            icon={IconAdjustmentsHorizontal}
            aria-expanded={opened}
            onClick={() => setOpened(!opened)}
          >
            {count > 0 ? `Filters (${count})` : 'Filters'}
          </IconButton>
        )}
      </div>
      {(!narrow || opened) && <MoreFilters filters={filters} isUsed={isUsed} />}
      {values.source && <SourceFilter id={values.source} onClear={() => set({ source: '' })} />}
    </search>
  );
}

interface MoreFiltersProps {
  filters: UrlFilters<EventFilterName>;
  isUsed: boolean;
}

function MoreFilters({ filters: { values, set }, isUsed }: MoreFiltersProps) {
  const { agencies, tags } = useAgenciesAndTags(isUsed);
  const isOwner = useIsOwner();
  return (
    <>
      <FilterSelect
        label="Event type"
        placeholder="Any type"
        data={TYPE_OPTIONS}
        value={values.event_type}
        onChange={(event_type) => set({ event_type })}
        w={130}
      />
      <TextFilter
        label="Agency"
        data={agencies}
        value={values.agency}
        onChange={(agency) => set({ agency })}
      />
      <TextFilter label="Tag" data={tags} value={values.tag} onChange={(tag) => set({ tag })} />
      <TextFilter
        label="Observer"
        data={[SELF]}
        value={values.observer}
        onChange={(observer) => set({ observer })}
      />
      <DayFilter label="From" value={values.since} onChange={(since) => set({ since })} />
      <DayFilter label="To" value={values.until} onChange={(until) => set({ until })} />
      <FilterSelect
        label="Quality"
        placeholder="Any quality"
        data={QUALITY_OPTIONS}
        value={values.label}
        onChange={(label) => set({ label })}
        w={150}
      />
      <Checkbox
        label="Hide noise"
        size="sm"
        className={classes.flag}
        checked={values.noise === 'false'}
        onChange={({ currentTarget }) => set({ noise: currentTarget.checked ? 'false' : '' })}
      />
      {isOwner && (
        <Checkbox
          label="Unseen"
          size="sm"
          className={classes.flag}
          checked={values.seen === 'false'}
          onChange={({ currentTarget }) => set({ seen: currentTarget.checked ? 'false' : '' })}
        />
      )}
    </>
  );
}

interface FieldProps {
  label: string;
  value: string | undefined;
  onChange: (value: string) => void;
}

/** A choice of known values or free text, applied on selection or on Enter. */
function TextFilter({ label, data, value = '', onChange }: FieldProps & { data: string[] }) {
  const [typed, setTyped] = useState(value);
  const [seen, setSeen] = useState(value);
  if (value !== seen) {
    setSeen(value);
    setTyped(value);
  }
  const apply = (text: string) => {
    if (text !== value) onChange(text);
  };
  return (
    <Autocomplete
      aria-label={label}
      placeholder={label}
      data={data}
      limit={50}
      value={typed}
      onChange={setTyped}
      onOptionSubmit={apply}
      onBlur={() => apply(typed.trim())}
      onKeyDown={(event) => {
        if (event.key === 'Enter') apply(typed.trim());
      }}
      rightSection={
        value ? (
          <CloseButton size="sm" aria-label={`Any ${label.toLowerCase()}`} onClick={() => apply('')} />
        ) : null
      }
      w={122}
    />
  );
}

function DayFilter({ label, value = '', onChange }: FieldProps) {
  return (
    <TextInput
      type="date"
      aria-label={label === 'From' ? 'From date' : 'To date'}
      leftSection={<span className="small muted">{label}</span>}
      leftSectionWidth={label === 'From' ? 48 : 32}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      w={label === 'From' ? 168 : 152}
      data-empty={value === '' || undefined}
      classNames={{ input: classes.day }}
    />
  );
}

/** The source filter, which other pages set. Shows the source's name if it has an event. */
function SourceFilter({ id, onClear }: { id: string; onClear: () => void }) {
  const events = useCall('listEvents', { query: { source: id, limit: 1 } });
  const source = events.data?.items[0]?.source;
  const name = source ? source.name || source.url : id;
  return (
    <span className={`${classes.chip} line inline gap-1 small wrap-anywhere`}>
      Source: {name}
      <CloseButton size="xs" aria-label={`Remove filter: ${name}`} onClick={onClear} />
    </span>
  );
}

export const EVENT_FILTERS = [
  'q',
  'event_type',
  'agency',
  'tag',
  'source',
  'observer',
  'since',
  'until',
  'noise',
  'label',
  'seen',
] as const;
type EventFilterName = (typeof EVENT_FILTERS)[number];
export type EventFilters = Filters<EventFilterName>;

/**
 * The filters as query parameters. Invalid values from the URL are omitted, because the node would refuse
 * them. Dates are in the person's time zone.
 */
export function queryOf(filters: EventFilters, zone: Zone): Record<string, string | undefined> {
  const { event_type, source, since, until, noise, label, seen, ...words } = filters;
  return {
    ...words,
    event_type: EVENT_TYPES.some((type) => type === event_type) ? event_type : undefined,
    source: source && /^so_[0-9a-f]{20}$/.test(source) ? source : undefined,
    since: since && dayStart(since, 0, zone),
    until: until && lastInstantOf(until, zone),
    noise: flagOf(noise),
    label: LABEL_FILTERS.some((name) => name === label) ? label : undefined,
    seen: flagOf(seen),
  };
}

function flagOf(value: string | undefined): string | undefined {
  return value === 'true' || value === 'false' ? value : undefined;
}

function lastInstantOf(day: string, zone: Zone): string | undefined {
  const next = dayStart(day, 1, zone);
  return next && new Date(Date.parse(next) - 1).toISOString();
}

/**
 * The start of a date (`2026-11-20`), or of a day after it, in the time zone. Undefined if the text is not a
 * date.
 */
export function dayStart(day: string, daysLater: number, zone: Zone): string | undefined {
  const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day) ?? [];
  if (!year || !month || !date) return undefined;
  const parts = [Number(year), Number(month) - 1, Number(date) + daysLater] as const;
  const instant = zone === 'utc' ? new Date(Date.UTC(...parts)) : new Date(...parts);
  return Number.isNaN(instant.getTime()) ? undefined : instant.toISOString();
}

/** The filter by label, in a user's words. */
export const QUALITY_OPTIONS = [
  { value: 'none', label: 'No warning' },
  { value: 'any', label: 'Any warning' },
  { value: 'bot_wall', label: 'Bot checks' },
  { value: 'rate_limit', label: 'Rate limits' },
  { value: 'error_page', label: 'Error pages' },
  { value: 'script_shell', label: 'Built by scripts' },
  { value: 'outside', label: 'Outside' },
] satisfies { value: LabelFilter; label: string }[];
