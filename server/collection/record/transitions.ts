import type { EventType } from '../../../shared/collection/event.ts';
import type { SourceState } from '../../../shared/collection/source.ts';
import type { Settings } from '../../../shared/node/settings.ts';

/** The state of a source between two checks. */
export interface Standing {
  state: SourceState;
  /** The number of consecutive failures other than 404 and 410. */
  failures: number;
  /** The time of the first of the consecutive 404 and 410 responses. */
  missing_since: string | null;
  /** The number of consecutive failures of either kind, and the time of the first. */
  consecutive: number;
  failing_since: string | null;
}

/** The outcome of one check of a source after its retries. */
export type Outcome = { kind: 'object'; sha256: string } | { kind: 'missing' } | { kind: 'failure' };

export interface Transition {
  standing: Standing;
  events: EventType[];
}

/**
 * Applies the state table of the contract. Where the contract is silent: a 404 ends a run of other failures and the
 * reverse, because "in a row" applies to each kind; only `consecutive` and `failing_since` span both. An `unavailable`
 * source becomes `gone` like an available one. A `gone` source stays `gone` until it returns an object.
 *
 * @param lastSha256 the digest of the source's newest version, or null if it has none.
 * @param at the time of the check.
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
