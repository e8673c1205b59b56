import { EVENT_TYPES, LABEL_FILTERS } from '../../../../shared/collection/event.ts';
import type { Zone } from '../../state/displaySettings.ts';
import type { Filters } from '../../state/urlFilters.ts';

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
export type EventFilterName = (typeof EVENT_FILTERS)[number];
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
