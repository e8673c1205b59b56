import type { DriftItem } from '../../shared/archive/drift.ts';
import { type VersionEvent, versionEvents } from '../store/sqlite/collection/versionEvents.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { driftOf, type Found } from './driftOf.ts';

/** A version of a source that a pack relates to. */
export interface CitedVersion {
  sourceKey: number;
  sha256: string;
  /** The event with which the node saw it. */
  event: number;
}

/**
 * Returns the version of a source that was current at a time, or a given one if there is `sha256`. If the node saw it
 * only later, this is its first sight. Undefined if the node never saw it.
 */
export function citedVersion(
  read: ReadDatabase,
  sourceKey: number,
  { at, sha256 }: { at: string; sha256?: string },
): CitedVersion | undefined {
  let cited: CitedVersion | undefined;
  for (const event of versionEvents(read, sourceKey)) {
    if (event.observed_at > at && cited) break;
    if (event.sha256 === null || (sha256 !== undefined && event.sha256 !== sha256)) continue;
    cited = { sourceKey, sha256: event.sha256, event: event.id };
  }
  return cited;
}

type SourceDrift = Pick<
  Extract<DriftItem, { kind: 'source' }>,
  'state' | 'at' | 'cited_sha256' | 'current_sha256' | 'event' | 'only_noise'
>;

/** Compares a version of a source with the node's events after it. */
export function driftOfSource(read: ReadDatabase, { sourceKey, sha256, event }: CitedVersion): SourceDrift {
  const later = [...eventsAfter(read, sourceKey, event)];
  const { state, current, by } = driftOf(sha256, foundBy(later, sha256));
  const changes = later.filter(({ event_type }) => event_type === 'changed');
  return {
    state,
    at: by?.observed_at ?? null,
    cited_sha256: sha256,
    current_sha256: current,
    event: by?.id ?? null,
    only_noise: state === 'changed' && changes.every(({ is_noise }) => is_noise === 1),
  };
}

function* eventsAfter(read: ReadDatabase, sourceKey: number, event: number): Generator<VersionEvent> {
  let isAfter = false;
  for (const row of versionEvents(read, sourceKey)) {
    if (isAfter) yield row;
    isAfter ||= row.id === event;
  }
}

/** Returns the version after each event. A source that recovers with the same bytes has its previous version. */
function* foundBy(events: readonly VersionEvent[], cited: string): Generator<Found<VersionEvent>> {
  let last = cited;
  for (const event of events) {
    const isGone = event.event_type === 'unavailable' || event.event_type === 'disappeared';
    if (!isGone) last = event.sha256 ?? last;
    yield { sha256: isGone ? null : last, event };
  }
}
