import type { Stats, Status, StatusReason } from '../../../shared/collection/collection.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { readFixity } from '../../fixity/damages.ts';
import { hasOverdueSource, lastCompletedRound } from '../../store/sqlite/collection/dueTimes.ts';
import {
  countSourcesIn,
  countWatchedSources,
  failingSources,
  leastRefusedBytes,
} from '../../store/sqlite/collection/sources.ts';
import { lastEventId } from '../../store/sqlite/collection/timeline/events.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { onSnapshot } from '../../store/sqlite/engine/queries.ts';
import { counter } from '../../store/sqlite/node/blobs.ts';
import { reachedStorageLimit, type Store } from '../../store/store.ts';

/** The status is `ok` if a round that checked a source was completed within this time. */
const MAX_AGE_MS = 24 * 3_600_000;

/** Returns whether the collection works, every failing source, and whether new objects can be stored. */
export async function readStatus(
  store: Pick<Store, 'read' | 'clock' | 'heldBytes' | 'freeBytes' | 'clockBehindMs'>,
  settings: Settings,
): Promise<Status> {
  const storage = reachedStorageLimit(store, settings, leastRefusedBytes(store.read) ?? 0);
  return onSnapshot(store.read, () => {
    const last = lastCompletedRound(store.read) ?? null;
    const age = last === null ? null : Math.max(0, store.clock.now() - Date.parse(last));
    const failing = failingSources(store.read).map((source) => ({
      source: {
        id: source.id,
        url: source.url,
        name: source.name,
        agency: source.agency,
        tags: source.tags,
      },
      error: source.last_error,
      status: source.last_status,
      since: source.failing_since ?? source.added_at,
      consecutive: source.consecutive,
    }));
    const ok = age !== null && age <= MAX_AGE_MS;
    const watched = countWatchedSources(store.read);
    return {
      ok,
      reason: ok ? null : reasonFor(store.read, watched, store.clock.now(), settings),
      last_completed_collection_at: last,
      age_seconds: age === null ? null : Math.floor(age / 1000),
      sources: {
        total: counter(store.read, 'sources'),
        available: countSourcesIn(store.read, 'available'),
        failing: failing.length,
      },
      failing,
      storage,
      clock_behind_seconds: Math.floor(store.clockBehindMs() / 1000),
      fixity: readFixity(store.read),
    };
  });
}

/** Returns why no round was completed within `MAX_AGE_MS`. */
function reasonFor(
  read: ReadDatabase,
  watched: number,
  now: number,
  { collection_every_minutes }: Pick<Settings, 'collection_every_minutes'>,
): StatusReason {
  if (watched === 0) return 'no_sources';
  const isOverdue = hasOverdueSource(read, {
    now: instantOf(now),
    since: instantOf(now - MAX_AGE_MS),
    everyMinutes: collection_every_minutes,
    dailyMinutes: MAX_AGE_MS / 60_000,
  });
  return isOverdue ? 'overdue' : 'not_yet';
}

/** Returns the counts. They are maintained with every change, so reading them is cheap. */
export function readStats({ read }: Pick<Store, 'read'>): Stats {
  return onSnapshot(read, () => ({
    sources: counter(read, 'sources'),
    observations: counter(read, 'observations'),
    archived_objects: counter(read, 'archived_objects'),
    events: lastEventId(read),
    derived_documents: counter(read, 'derived_documents'),
  }));
}
