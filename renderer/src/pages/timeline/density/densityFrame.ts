import { dayOf } from '../../../format/time.ts';
import type { Zone } from '../../../state/look.ts';
import { dayStart } from '../eventFilters.ts';

/** More bars than this would be thinner than can be pointed at. */
const MOST_BARS = 90;
const DAY_MS = 86_400_000;

/** Whole days in the person's zone, cut into bars of `step` days each. */
export interface DensityFrame {
  /** The first day, as the filters take it: `2026-11-20`. */
  firstDay: string;
  step: number;
  bars: number;
  /** The instants that the node is asked by. Where clocks are changed a bar may begin an hour off its day. */
  since: string;
  until: string;
}

/** The frame of all events; undefined where they are all of one day, of which there is nothing to choose. */
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

/** From the beginning of one bar to that of another, which is not included. */
export type BarRange = [from: number, to: number];

/** The bars that a choice of days touches; all of them where none is chosen. */
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

/** The days of some bars, as the filters take them; an empty text where it is as far as there is anything. */
export function daysOf(frame: DensityFrame, [from, to]: BarRange): { since: string; until: string } {
  return {
    since: from <= 0 ? '' : firstDayOf(frame, from),
    until: to >= frame.bars ? '' : lastDayBefore(frame, to),
  };
}

/** The day with which a bar begins. */
export function firstDayOf({ firstDay, step }: DensityFrame, bar: number): string {
  return dayNamed(numberOf(firstDay) + bar * step);
}

/** The day before a bar begins. */
export function lastDayBefore({ firstDay, step }: DensityFrame, bar: number): string {
  return dayNamed(numberOf(firstDay) + bar * step - 1);
}

function isDay(text: string | undefined): text is string {
  return text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
}

/** A day as a number of days, so that days can be counted whatever the clocks do. */
function numberOf(day: string): number {
  return Math.round(Date.parse(day) / DAY_MS);
}

function dayNamed(number: number): string {
  return new Date(number * DAY_MS).toISOString().slice(0, 10);
}
