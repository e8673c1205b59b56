import type { EventType, LabelFilter } from '../../../../../shared/collection/event.ts';
import type { SeenMarks } from './seenEvents.ts';

/** The criteria of a list of events; null matches all. */
export interface EventCriteria {
  /** Keys of sources. */
  sources: readonly number[] | null;
  /** Ids of events that match whatever their source. Only used together with `sources`. */
  ids: readonly number[];
  event_type: EventType | null;
  observer: string | null;
  /** Instants, both inclusive. */
  since: string | null;
  until: string | null;
  noise: boolean | null;
  label: LabelFilter | null;
  seen: { marks: SeenMarks; seen: boolean } | null;
}

/** The criteria of all events. */
export const EVERY_EVENT: EventCriteria = {
  sources: null,
  ids: [],
  event_type: null,
  observer: null,
  since: null,
  until: null,
  noise: null,
  label: null,
  seen: null,
};

/** Whether events are selected by time alone: they are then adjacent. */
export function filtersByTimeOnly({
  sources,
  event_type,
  observer,
  noise,
  label,
  seen,
}: EventCriteria): boolean {
  return [sources, event_type, observer, noise, label, seen].every((criterion) => criterion === null);
}
