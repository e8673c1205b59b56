import { MAX_SEEN_EXCEPTIONS, type Seen, type SeenChange } from '../../../shared/collection/seen.ts';
import { Problem } from '../../../shared/problems.ts';
import { eventColumns } from '../../store/sqlite/collection/timeline/eventColumns.ts';
import { EVERY_EVENT } from '../../store/sqlite/collection/timeline/eventCriteria.ts';
import { lastEventId } from '../../store/sqlite/collection/timeline/events.ts';
import { countUnseen, isNoiseCountable } from '../../store/sqlite/collection/timeline/noiseCounts.ts';
import {
  readSeenMarks,
  type SeenMarks,
  writeSeenMarks,
} from '../../store/sqlite/collection/timeline/seenEvents.ts';
import type { Store } from '../../store/store.ts';
import { loadTimeline } from './events.ts';

/** Returns which events the owner has seen, and how many are unseen. */
export async function readSeen({ read }: Pick<Store, 'read'>): Promise<Seen> {
  const columns = eventColumns(read);
  const isEarly = !columns.isReady && isNoiseCountable(read);
  if (!isEarly) await loadTimeline({ read });
  return read
    .transaction(() => {
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
    })
    .deferred();
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
