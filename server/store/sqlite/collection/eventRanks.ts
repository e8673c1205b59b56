import { type ReadDatabase, statement } from '../engine/open.ts';
import { lastEventId } from './events.ts';

interface Mark {
  observed_at: string;
  id: number;
  rank: number;
}

/** How many events were observed until an instant, or in all. */
export function countUntil(
  database: ReadDatabase,
  instant?: string,
  { inclusive }: { inclusive: boolean } = { inclusive: true },
): number {
  // An event's number is also how many there were with it.
  if (instant === undefined) return lastEventId(database);
  const compare = inclusive ? '<=' : '<';
  const mark = statement<Mark>(
    database,
    `SELECT * FROM event_marks WHERE observed_at ${compare} ? ORDER BY observed_at DESC, id DESC LIMIT 1`,
  ).get(instant);
  const rest = statement<{ count: number }>(
    database,
    `SELECT count(*) AS count FROM events INDEXED BY events_by_time
     WHERE (observed_at, id) > (?, ?) AND observed_at ${compare} ?`,
  ).get(mark?.observed_at ?? '', mark?.id ?? 0, instant)?.count;
  return (mark?.rank ?? 0) + (rest ?? 0);
}

/** When the oldest and the newest event were observed; undefined where there is none. */
export function timeExtent(database: ReadDatabase): { first: string; last: string } | undefined {
  const at = (order: 'ASC' | 'DESC') =>
    statement<{ observed_at: string }>(
      database,
      `SELECT observed_at FROM events INDEXED BY events_by_time ORDER BY observed_at ${order}, id ${order} LIMIT 1`,
    ).get()?.observed_at;
  const first = at('ASC');
  const last = at('DESC');
  return first === undefined || last === undefined ? undefined : { first, last };
}

/** Up to `limit` events downwards from a rank in the timeline; the oldest event has rank 1. */
export function idsByRank(database: ReadDatabase, rank: number, limit: number): number[] {
  if (rank < 1 || limit < 1) return [];
  const mark = statement<Mark>(
    database,
    'SELECT * FROM event_marks WHERE rank >= ? ORDER BY rank LIMIT 1',
  ).get(rank) ?? { observed_at: '\uffff', id: Number.MAX_SAFE_INTEGER, rank: lastEventId(database) };
  return statement<{ id: number }>(
    database,
    `SELECT id FROM events INDEXED BY events_by_time WHERE (observed_at, id) <= (?, ?)
     ORDER BY observed_at DESC, id DESC LIMIT ? OFFSET ?`,
  )
    .all(mark.observed_at, mark.id, limit, mark.rank - rank)
    .map(({ id }) => id);
}
