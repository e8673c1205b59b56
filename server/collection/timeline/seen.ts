import { MAX_SEEN_EXCEPTIONS, type Seen, type SeenChange } from '../../../shared/collection/event.ts';
import { Problem } from '../../../shared/problems.ts';
import { after } from '../../runtime/background.ts';
import type { Log } from '../../runtime/log.ts';
import {
  EVERY_EVENT,
  eventColumns,
  readSeenMarks,
  type SeenMarks,
  writeSeenMarks,
} from '../../store/sqlite/collection/timeline/eventColumns.ts';
import { countUnseen, isNoiseCountable } from '../../store/sqlite/collection/timeline/eventList.ts';
import { lastEventId } from '../../store/sqlite/collection/timeline/events.ts';
import { onSnapshot } from '../../store/sqlite/engine/queries.ts';
import type { Store } from '../../store/store.ts';
import { loadTimeline } from './events.ts';

/** Returns which events the owner has seen, and how many are unseen. */
export async function readSeen({ read }: Pick<Store, 'read'>): Promise<Seen> {
  const columns = eventColumns(read);
  const isEarly = !columns.isReady && isNoiseCountable(read);
  if (!isEarly) await loadTimeline({ read });
  return onSnapshot(read, () => {
    const marks = readSeenMarks(read);
    if (isEarly) return { ...marks, ...countUnseen(read, marks) };
    columns.catchUp();
    const count = (noise: boolean) =>
      columns.list({ ...EVERY_EVENT, noise, seen: { marks, seen: false } }, { limit: 0, offset: 0 }).total;
    const isAllSeen = marks.until >= lastEventId(read) && marks.exceptions.length === 0;
    return {
      ...marks,
      unseen: isAllSeen ? 0 : count(false),
      unseen_noise: isAllSeen ? 0 : count(true),
    };
  });
}

/**
 * Marks events as seen or unseen. Ids of events that do not exist are ignored.
 *
 * @throws Problem `invalid_field` if too many single events would differ from those around them.
 */
export async function changeSeen(store: Pick<Store, 'read' | 'write'>, change: SeenChange): Promise<Seen> {
  await store.write((database) => {
    const marks = changedMarks(readSeenMarks(database), change, lastEventId(database));
    if (marks.exceptions.length > MAX_SEEN_EXCEPTIONS) throw tooMany();
    writeSeenMarks(database, marks);
  });
  return readSeen(store);
}

function tooMany(): Problem {
  const message = `At most ${MAX_SEEN_EXCEPTIONS} events can be marked one by one. Mark all as seen first.`;
  return new Problem('invalid_field', `/seen: ${message}`, { errors: [{ path: '/seen', message }] });
}

/** Returns the marks after a change. Seen events that follow `until` without a gap move it forward. */
function changedMarks(marks: SeenMarks, change: SeenChange, lastId: number): SeenMarks {
  const given = Math.min(change.until ?? 0, lastId);
  let until = Math.max(marks.until, given);
  const seen = new Set(marks.exceptions.filter((id) => id > until));
  const unseen = new Set(marks.exceptions.filter((id) => id <= marks.until && id > given));
  for (const id of (change.seen ?? []).filter((event) => event <= lastId)) {
    unseen.delete(id);
    if (id > until) seen.add(id);
  }
  for (const id of (change.unseen ?? []).filter((event) => event <= lastId)) {
    seen.delete(id);
    if (id <= until) unseen.add(id);
  }
  while (seen.delete(until + 1)) until += 1;
  return { until, exceptions: [...unseen, ...seen].sort((left, right) => left - right) };
}

/** Counts are at least this far apart: a round commits many times. */
const PAUSE_MS = 1_000;

/** Calls the listener with the number of unseen events, without noise: now, and soon after it has changed. Returns stop. */
export function followUnseen(
  { store, log }: { store: Pick<Store, 'read' | 'onCommit'>; log: Log },
  listener: (count: number) => void,
): () => void {
  let last: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  const count = async () => {
    const { unseen } = await readSeen(store);
    if (unseen !== last) listener(unseen);
    last = unseen;
  };
  const countSoon = (ms: number) => {
    timer ??= after(
      ms,
      async () => {
        timer = undefined;
        await count();
      },
      (error) => log.warn({ error }, 'The unseen events could not be counted.'),
    ).unref();
  };
  const unsubscribe = store.onCommit(() => countSoon(PAUSE_MS));
  countSoon(0);
  return () => {
    unsubscribe();
    clearTimeout(timer);
  };
}
