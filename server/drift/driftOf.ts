import type { DriftState } from '../../shared/archive/drift.ts';

/** A version that was found at some time; `sha256` is null while there is none. */
export interface Found<Event> {
  sha256: string | null;
  event: Event;
}

export interface Drift<Event> {
  state: DriftState;
  current: string | null;
  /** What brought it into this state; undefined if it is the same. */
  by: Event | undefined;
}

/** Compares a cited version with what was found after it, oldest first. */
export function driftOf<Event>(cited: string, later: Iterable<Found<Event>>): Drift<Event> {
  let drift: Drift<Event> = { state: 'same', current: cited, by: undefined };
  for (const { sha256, event } of later) {
    const state = stateOf(cited, sha256, drift.state);
    drift = { state, current: sha256, by: state === drift.state ? drift.by : event };
  }
  return drift;
}

function stateOf(cited: string, found: string | null, before: DriftState): DriftState {
  if (found === null) return 'vanished';
  if (found !== cited) return 'changed';
  return before === 'same' ? 'same' : 'returned';
}
