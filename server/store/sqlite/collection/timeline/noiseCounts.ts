import { type ReadDatabase, statement } from '../../engine/open.ts';
import type { EventIdPage } from './eventColumns.ts';
import { IS_NOISE } from './eventNoise.ts';
import { lastEventId } from './events.ts';
import type { SeenMarks } from './seenEvents.ts';

/*
 * Right after a start, the columns of the events are still being loaded: a second of processor time for a million events.
 * What the first pages ask about noise is answered from the tables until then.
 */

/** Counting takes a millisecond for a thousand judged events, during which the node does nothing else. */
const MAX_COUNTED = 200_000;
/** The judged events `n` that are noise by the current rules of their sources. */
const NOISE_EVENTS = `event_noise n JOIN events e ON e.id = n.event JOIN sources s ON s.key = e.source_key
  WHERE n.is_noise = 1 AND n.rules_digest = s.rules_digest`;

/** Whether noise may be counted in the tables. */
export function isNoiseCountable(database: ReadDatabase): boolean {
  return (statement<number>(database, 'SELECT count(*) FROM event_noise').pluck().get() ?? 0) <= MAX_COUNTED;
}

/** Returns the newest events that are noise, or that are not, and how many there are. */
export function newestByNoise(database: ReadDatabase, noise: boolean, limit: number): EventIdPage {
  const count = statement<number>(database, `SELECT count(*) FROM ${NOISE_EVENTS}`).pluck().get() ?? 0;
  const newest = noise
    ? `SELECT e.id FROM ${NOISE_EVENTS} ORDER BY e.observed_at DESC, e.id DESC LIMIT ?`
    : `SELECT e.id FROM events e INDEXED BY events_by_time WHERE NOT ${IS_NOISE}
       ORDER BY e.observed_at DESC, e.id DESC LIMIT ?`;
  const ids = statement<number>(database, newest).pluck().all(limit);
  // An event's number is also how many there were with it.
  return { ids, total: noise ? count : lastEventId(database) - count };
}

/** Returns how many events are unseen: those that are noise, and the others. */
export function countUnseen(
  database: ReadDatabase,
  { until, exceptions }: SeenMarks,
): { unseen: number; unseen_noise: number } {
  const unseen_noise =
    statement<number>(
      database,
      `SELECT count(*) FROM ${NOISE_EVENTS}
       AND (n.event > ?) <> (n.event IN (SELECT event FROM seen_exceptions))`,
    )
      .pluck()
      .get(until) ?? 0;
  const unseenBefore = exceptions.filter((id) => id <= until).length;
  const seenAfter = exceptions.length - unseenBefore;
  const all = Math.max(0, lastEventId(database) - until) + unseenBefore - seenAfter;
  return { unseen: all - unseen_noise, unseen_noise };
}
