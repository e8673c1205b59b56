import { dayOf } from '../../../format/time.ts';
import type { Zone } from '../../../state/displaySettings.ts';
import { dayStart } from '../eventFilters.ts';

/** With more bars, each would be too thin to point at. */
const MOST_BARS = 90;
const DAY_MS = 86_400_000;

/** Whole days in the person's time zone, grouped into bars of `step` days. */
export interface DensityFrame {
  /** The first day, in the format of the filters: `2026-11-20`. */
  firstDay: string;
  step: number;
  bars: number;
  /** The bar boundaries as timestamps. Around a clock change a boundary may be an hour off. */
  since: string;
  until: string;
}

/** The frame of all events; undefined if they all happened on one day. */
export function frameOf(first: string, last: string, zone: Zone): DensityFrame | undefined {
  const firstDay = dayOf(first, zone);
  const days = numberOf(dayOf(last, zone)) - numberOf(firstDay) + 1;
  if (days < 2) return undefined;
  const step = Math.ceil(days / MOST_BARS);
  const bars = Math.ceil(days / step);
  const since = dayStart(firstDay, 0, zone);
  const end = dayStart(firstDay, bars * step, zone);
  if (since === undefined || end === undefined) return undefined;
  return { firstDay, step, bars, since, until: new Date(Date.parse(end) - 1).toISOString() };
}

/** From the start of one bar to the start of another, exclusive. */
export type BarRange = [from: number, to: number];

/** The bars that overlap the selected dates; all bars if no dates are selected. */
export function barsOf(
  { firstDay, step, bars }: DensityFrame,
  since: string | undefined,
  until: string | undefined,
): BarRange {
  const at = (day: string) => (numberOf(day) - numberOf(firstDay)) / step;
  const from = isDay(since) ? Math.floor(at(since)) : 0;
  const to = isDay(until) ? Math.ceil(at(until) + 1 / step) : bars;
  const start = Math.min(Math.max(from, 0), bars - 1);
  return [start, Math.max(Math.min(to, bars), start + 1)];
}

/** The dates of a bar range in the format of the filters. Empty where the range is open. */
export function daysOf(frame: DensityFrame, [from, to]: BarRange): { since: string; until: string } {
  return {
    since: from <= 0 ? '' : firstDayOf(frame, from),
    until: to >= frame.bars ? '' : lastDayBefore(frame, to),
  };
}

/** The first day of a bar. */
export function firstDayOf({ firstDay, step }: DensityFrame, bar: number): string {
  return dayNamed(numberOf(firstDay) + bar * step);
}

/** The last day before a bar. */
export function lastDayBefore({ firstDay, step }: DensityFrame, bar: number): string {
  return dayNamed(numberOf(firstDay) + bar * step - 1);
}

function isDay(text: string | undefined): text is string {
  return text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
}

/** A date as a day number, so that days can be counted despite clock changes. */
function numberOf(day: string): number {
  return Math.round(Date.parse(day) / DAY_MS);
}

function dayNamed(number: number): string {
  return new Date(number * DAY_MS).toISOString().slice(0, 10);
}
