import type { EventType } from '../../../../shared/collection/event.ts';
import { type ReadDatabase, statement } from '../engine/open.ts';
import { IS_NOISE_COLUMN } from './timeline/eventNoise.ts';

/** An event by which the node itself learned which version of a source there is. */
export interface VersionEvent {
  id: number;
  event_type: EventType;
  observed_at: string;
  sha256: string | null;
  is_noise: 0 | 1 | null;
}

/** Iterates over the node's own events of a source, oldest first. */
export function versionEvents(database: ReadDatabase, sourceKey: number): IterableIterator<VersionEvent> {
  return statement<VersionEvent>(
    database,
    `SELECT e.id, e.event_type, e.observed_at, e.sha256, ${IS_NOISE_COLUMN}
     FROM events e INDEXED BY events_by_source JOIN sources s ON s.key = e.source_key
     WHERE e.source_key = ? AND e.observer = 'self' ORDER BY e.observed_at, e.id`,
  ).iterate(sourceKey);
}

/** Returns the keys of the sources from which the node itself retrieved an object, at most `limit`. */
export function sourcesOfObject(database: ReadDatabase, sha256: string, limit: number): number[] {
  return statement<number>(
    database,
    `SELECT DISTINCT source_key FROM events INDEXED BY events_by_object
     WHERE sha256 = ? AND observer = 'self' ORDER BY source_key LIMIT ?`,
  )
    .pluck()
    .all(sha256, limit);
}
