import type { FollowRun } from '../../../shared/collection/follow.ts';
import { type Retrieval } from '../../../shared/collection/retrieval.ts';
import {
  RECENT_CHECKS,
  type Source,
  type SourcesQuery,
  type WatchedSource,
} from '../../../shared/collection/source.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Slice } from '../../../shared/values/list.ts';
import {
  countWaiting,
  type FollowRunRow,
  followRun,
  unlinkedAt,
} from '../../store/sqlite/collection/foundLinks.ts';
import { hasRetrieval, recentChecks, retrievalsOfSource } from '../../store/sqlite/collection/retrievals.ts';
import { listSourceRows, type SourceRow, sourceById } from '../../store/sqlite/collection/sources.ts';
import {
  labelOfNewestVersion,
  lastCapturedEvent,
  lastEventAt,
} from '../../store/sqlite/collection/timeline/events.ts';
import { matchExpression } from '../../store/sqlite/engine/search.ts';
import type { Store } from '../../store/store.ts';
import { isPrivateAddress } from '../fetch/addresses.ts';
import { allowsPrivateAddress } from './privateSources.ts';

/** Lists the watched sources as visitors see them. */
export function listSources({ read }: Pick<Store, 'read'>, query: SourcesQuery): Slice<Source> {
  const { rows, total } = listRows({ read }, query);
  return { items: rows.map((row) => publicSource(read, row)), total };
}

/** Lists the watched sources as the owner sees them. */
export function listWatchedSources({ read }: Pick<Store, 'read'>, query: SourcesQuery): Slice<WatchedSource> {
  const { rows, total } = listRows({ read }, query);
  return { items: rows.map((row) => watchedSource(read, row)), total };
}

function listRows(
  { read }: Pick<Store, 'read'>,
  { q, agency, tag, state, paused, sort, limit, offset }: SourcesQuery,
) {
  const filter = {
    match: (q && matchExpression(q)) || null,
    agency: agency ?? null,
    tag: tag ?? null,
    state: state ?? null,
    paused: paused ?? null,
  };
  return read.transaction(() => listSourceRows(read, filter, { limit, offset, sort })).deferred();
}

/** Returns a source as visitors see it, even if it was removed. @throws Problem `not_found`. */
export function readSource({ read }: Pick<Store, 'read'>, id: string): Source {
  return publicSource(read, requireSource(read, id));
}

/** Returns a source as the owner sees it, even if it was removed. @throws Problem `not_found`. */
export function readWatchedSource({ read }: Pick<Store, 'read'>, id: string): WatchedSource {
  return read.transaction(() => watchedSource(read, requireSource(read, id))).deferred();
}

/** Lists every attempt on a source, newest first. @throws Problem `not_found`. */
export function listRetrievals(
  { read }: Pick<Store, 'read'>,
  id: string,
  page: { limit: number; offset: number },
): Slice<Retrieval> {
  return read.transaction(() => retrievalsOfSource(read, requireSource(read, id).key, page)).deferred();
}

/** Returns the row of a source. @throws Problem `not_found`. */
export function requireSource(database: Store['read'], id: string): SourceRow {
  const source = sourceById(database, id);
  if (!source) throw new Problem('not_found', 'There is no such source.');
  return source;
}

function publicSource(database: Store['read'], row: SourceRow): Source {
  const isCaptured = isKnownByCapturesOnly(database, row);
  const captured = isCaptured ? lastCapturedEvent(database, row.key) : undefined;
  return {
    id: row.id,
    url: row.url,
    name: row.name,
    agency: row.agency,
    tags: row.tags,
    last_checked_at: row.last_checked_at,
    state: row.state,
    every_minutes: row.every_minutes,
    paused: row.paused,
    added_at: row.added_at,
    last_sha256: row.last_sha256,
    last_event_type: row.last_event_type ?? captured?.type ?? null,
    page_label: labelOfNewestVersion(database, row.key, { isOwn: !isCaptured }),
    captures_only: isCaptured,
  };
}

function isKnownByCapturesOnly(database: Store['read'], row: SourceRow): boolean {
  return row.paused && row.last_checked_at === null && hasRetrieval(database, row.key);
}

/** Returns a source as the owner sees it. */
export function watchedSource(database: Store['read'], row: SourceRow): WatchedSource {
  const source = publicSource(database, row);
  return {
    ...source,
    last_event_at:
      (source.captures_only ? lastCapturedEvent(database, row.key)?.at : lastEventAt(database, row.key)) ??
      null,
    recent_checks: recentChecks(database, row.key, RECENT_CHECKS),
    max_object_mb: row.max_object_mb,
    ignore_robots: row.ignore_robots,
    headers: row.headers,
    noise_rules: row.noise_rules,
    every: row.every,
    time_zone: row.time_zone,
    active_hours: row.active_hours,
    follow: row.follow,
    follow_run: row.follow && runOf(followRun(database, row.key)),
    found_waiting: row.follow ? countWaiting(database, row.key) : 0,
    found_in: row.found_in,
    unlinked_at: row.found_in === null ? null : unlinkedAt(database, row.id, row.found_in),
    allow_private: allowsPrivateAddress(row, isPrivateAddress),
    next_check_at: row.paused || row.removed ? null : row.next_check_at,
    last_status: row.last_status,
    last_error: row.last_error,
    consecutive_failures: row.consecutive,
    failing_since: row.failing_since,
    removed: row.removed,
  };
}

function runOf(run: FollowRunRow | undefined): FollowRun | null {
  if (!run) return null;
  const { at, listed, matched, complete, problem } = run;
  return { at, listed, matched, complete, problem };
}
