import type { EventType } from '../../../shared/event.ts';
import type { Settings } from '../../../shared/settings.ts';
import type { SourceState } from '../../../shared/source.ts';

/** Where a source stands between two checks. */
export interface Standing {
  state: SourceState;
  /** Failures other than 404 and 410 in a row. */
  failures: number;
  /** When the first 404 or 410 of the present run of them was met. */
  missing_since: string | null;
  /** Failures of either kind in a row, and when the first of them was met. */
  consecutive: number;
  failing_since: string | null;
}

/** What one check of a source came to, once its retries were used up. */
export type Outcome = { kind: 'object'; sha256: string } | { kind: 'missing' } | { kind: 'failure' };

export interface Transition {
  standing: Standing;
  events: EventType[];
}

/**
 * The table of states. What it leaves open: a run of 404s and a run of other failures end each other, because "in a
 * row" is said of each kind; only `consecutive` and `failing_since` span both. An `unavailable` source goes on to `gone`
 * as an available one does; a `gone` one stays so until it answers with an object.
 *
 * @param lastSha256 the digest of the source's newest version, or null where it has none.
 * @param at when the check was made.
 */
export function transition(
  standing: Standing,
  outcome: Outcome,
  lastSha256: string | null,
  settings: Pick<Settings, 'unavailable_after_failures' | 'gone_after_minutes'>,
  at: string,
): Transition {
  if (outcome.kind === 'object')
    return { standing: AVAILABLE, events: eventsOfSuccess(standing, outcome, lastSha256) };
  const failing = {
    consecutive: standing.consecutive + 1,
    failing_since: standing.failing_since ?? at,
  };
  if (outcome.kind === 'missing') {
    const firstOfRun = standing.missing_since;
    const next = { ...standing, ...failing, failures: 0, missing_since: firstOfRun ?? at };
    const mayVanish = standing.state === 'available' || standing.state === 'unavailable';
    if (!mayVanish || firstOfRun === null || minutesBetween(firstOfRun, at) < settings.gone_after_minutes)
      return { standing: next, events: [] };
    return { standing: { ...next, state: 'gone' }, events: ['disappeared'] };
  }
  const next = { ...standing, ...failing, failures: standing.failures + 1, missing_since: null };
  if (standing.state !== 'available' || next.failures < settings.unavailable_after_failures)
    return { standing: next, events: [] };
  return { standing: { ...next, state: 'unavailable' }, events: ['unavailable'] };
}

const AVAILABLE: Standing = {
  state: 'available',
  failures: 0,
  missing_since: null,
  consecutive: 0,
  failing_since: null,
};

function eventsOfSuccess(
  { state }: Standing,
  { sha256 }: { sha256: string },
  lastSha256: string | null,
): EventType[] {
  if (state === 'new') return ['first_seen'];
  const events: EventType[] = state === 'available' ? [] : ['recovered'];
  if (sha256 !== lastSha256) events.push('changed');
  return events;
}

function minutesBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 60_000;
}
