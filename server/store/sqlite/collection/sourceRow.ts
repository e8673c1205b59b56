import type { EventType } from '../../../../shared/collection/event.ts';
import type { Follow } from '../../../../shared/collection/follow.ts';
import type { NoiseRule } from '../../../../shared/collection/noise.ts';
import type { RetrievalError } from '../../../../shared/collection/retrieval.ts';
import type { ActiveHours, Schedule } from '../../../../shared/collection/schedule/scheduleFields.ts';
import type { SourceState } from '../../../../shared/collection/source.ts';

/** The owner's settings of a source. */
export interface SourceSettings extends Schedule {
  name: string;
  agency: string;
  tags: string[];
  max_object_mb: number | null;
  ignore_robots: boolean;
  headers: Record<string, string>;
  /** Changes that are noise. */
  noise_rules: NoiseRule[];
  paused: boolean;
  /** Which of its links become sources; null if none. */
  follow: Follow | null;
  /** The id of the source in which its URL was found. */
  found_in: string | null;
  /** Whether connections to private addresses are allowed; null if undecided, then its own URL decides. */
  allow_private: boolean | null;
}

/** The state of a source, and the counters behind its transitions. */
export interface SourceCheckState {
  state: SourceState;
  failures: number;
  missing_since: string | null;
  consecutive: number;
  failing_since: string | null;
}

export interface SourceRow extends SourceSettings, SourceCheckState {
  key: number;
  id: string;
  url: string;
  removed: boolean;
  added_at: string;
  /** The ledger entry of its newest revision. */
  revision: number;
  last_checked_at: string | null;
  next_check_at: string | null;
  last_status: number | null;
  last_error: RetrievalError | null;
  last_sha256: string | null;
  last_event_type: EventType | null;
  /** The digest of its noise rules; null if there are none. */
  rules_digest: string | null;
  /** The number of bytes that the last check could not store for lack of space, if so. */
  refused_bytes: number | null;
}

/** A source as stored in SQLite. */
export type StoredSource = Omit<
  SourceRow,
  | 'tags'
  | 'headers'
  | 'noise_rules'
  | 'active_hours'
  | 'follow'
  | 'ignore_robots'
  | 'paused'
  | 'removed'
  | 'allow_private'
> & {
  tags: string;
  headers: string;
  noise_rules: string | null;
  active_hours: string | null;
  follow: string | null;
  ignore_robots: number;
  paused: number;
  removed: number;
  allow_private: number | null;
};

/** Parses the row of a source. @throws SyntaxError if the row is damaged */
export function parseSourceRow(row: StoredSource): SourceRow {
  return parseWith(row, (text) => JSON.parse(text));
}

/** Parses the row of a source for display. Damaged columns are empty, so that the rest can be shown. */
export function parseSourceRowForDisplay(row: StoredSource): SourceRow {
  return parseWith(row, (text, empty) => {
    try {
      return JSON.parse(text);
    } catch (error) {
      if (error instanceof SyntaxError) return empty;
      throw error;
    }
  });
}

function parseWith(row: StoredSource, parse: (text: string, empty: unknown) => unknown): SourceRow {
  return {
    ...row,
    tags: parse(row.tags, []) as string[],
    headers: parse(row.headers, {}) as Record<string, string>,
    noise_rules: row.noise_rules === null ? [] : (parse(row.noise_rules, []) as NoiseRule[]),
    active_hours: row.active_hours === null ? null : (parse(row.active_hours, null) as ActiveHours | null),
    follow: row.follow === null ? null : (parse(row.follow, null) as Follow | null),
    ignore_robots: row.ignore_robots === 1,
    paused: row.paused === 1,
    removed: row.removed === 1,
    allow_private: row.allow_private === null ? null : row.allow_private === 1,
  };
}
