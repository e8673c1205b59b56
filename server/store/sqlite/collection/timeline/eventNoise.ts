import { createHash } from 'node:crypto';
import type { NoiseRule } from '../../../../../shared/collection/noise.ts';
import { canonicalText } from '../../../../../shared/values/canonicalJson.ts';
import { ID_DIGITS } from '../../../../../shared/values/digest.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../../engine/open.ts';

/**
 * Returns the digest of a set of rules: the first digits of the SHA-256 of its canonical JSON, without the notes, which
 * do not affect the result. Null for no rules.
 */
export function rulesDigest(rules: readonly NoiseRule[]): string | null {
  if (rules.length === 0) return null;
  const applied = canonicalText(rules.map(({ kind, value }) => ({ kind, value })));
  return createHash('sha256').update(applied).digest('hex').slice(0, ID_DIGITS);
}

/** The SQL column for whether a change is only noise by the current rules of its source (`events e`, `sources s`). */
export const IS_NOISE_COLUMN = `(SELECT n.is_noise FROM event_noise n
  WHERE n.event = e.id AND n.rules_digest = s.rules_digest) AS is_noise`;

/** The result of judging one event. */
export interface EventNoise {
  event: number;
  is_noise: boolean;
  rules_digest: string;
}

/** The SQL condition that an event `e` is only noise by the current rules of its source. */
export const IS_NOISE = `EXISTS (SELECT 1 FROM event_noise n JOIN sources s ON s.key = e.source_key
  WHERE n.event = e.id AND n.is_noise = 1 AND n.rules_digest = s.rules_digest)`;

/** Stores the results for events, replacing earlier ones. */
export function putEventNoise(database: WriteDatabase, found: readonly EventNoise[]): void {
  for (const { event, is_noise, rules_digest } of found) {
    statement(
      database,
      `INSERT OR REPLACE INTO event_noise (event, is_noise, rules_digest, change)
       VALUES (?, ?, ?, (SELECT coalesce(max(change), 0) + 1 FROM event_noise))`,
    ).run(event, Number(is_noise), rules_digest);
  }
}

/** An event with an older and a newer version, and the rules of its source. */
export interface ComparableEvent {
  id: number;
  source_id: string;
  observed_at: string;
  sha256: string;
  previous_sha256: string;
  rules: NoiseRule[];
  rules_digest: string | null;
}

type Stored = Omit<ComparableEvent, 'rules'> & { noise_rules: string | null };

/** `index` fixes the query plan: there may be a million events, and all may be changes. */
const comparable = (
  index: string,
) => `SELECT e.id, s.id AS source_id, e.observed_at, e.sha256, e.previous_sha256,
    s.noise_rules, s.rules_digest
  FROM events e ${index} CROSS JOIN sources s ON s.key = e.source_key
  WHERE e.event_type = 'changed' AND e.sha256 IS NOT NULL AND e.previous_sha256 IS NOT NULL`;
const BY_NUMBER = comparable('NOT INDEXED');
const BY_SOURCE = comparable('INDEXED BY events_by_source');

function fromStored({ noise_rules, ...row }: Stored): ComparableEvent {
  return { ...row, rules: noise_rules === null ? [] : (JSON.parse(noise_rules) as NoiseRule[]) };
}

/** Returns an event with two versions; undefined if it has no two versions. */
export function comparableEvent(database: ReadDatabase, id: number): ComparableEvent | undefined {
  const row = statement<Stored>(database, `${BY_NUMBER} AND e.id = ?`).get(id);
  return row && fromStored(row);
}

/** Returns the events of a source with two versions, newest first, older than a given one. */
export function comparableEventsOf(
  database: ReadDatabase,
  sourceKey: number,
  { before, limit }: { before?: Pick<ComparableEvent, 'observed_at' | 'id'> | undefined; limit: number },
): ComparableEvent[] {
  return statement<Stored>(
    database,
    `${BY_SOURCE} AND e.source_key = ? AND (e.observed_at, e.id) < (?, ?)
     ORDER BY e.observed_at DESC, e.id DESC LIMIT ?`,
  )
    .all(sourceKey, before?.observed_at ?? '\uffff', before?.id ?? 0, limit)
    .map(fromStored);
}

/** Returns the number of events of a source with two versions. */
export function countComparable(database: ReadDatabase, sourceKey: number): number {
  return (
    statement<{ count: number }>(
      database,
      "SELECT coalesce(sum(count), 0) AS count FROM event_counts WHERE source_key = ? AND event_type = 'changed'",
    ).get(sourceKey)?.count ?? 0
  );
}

/** Whether any source has rules. */
export function hasRules(database: ReadDatabase): boolean {
  return (
    statement(
      database,
      'SELECT 1 FROM sources INDEXED BY sources_with_rules WHERE rules_digest IS NOT NULL',
    ).get() !== undefined
  );
}

/** Returns the unjudged events with two versions whose source has rules, with ids after `after` up to `until`. */
export function eventsToJudge(
  database: ReadDatabase,
  { after, until }: { after: number; until: number },
): ComparableEvent[] {
  return statement<Stored>(
    database,
    `${BY_NUMBER} AND e.id > ? AND e.id <= ? AND s.rules_digest IS NOT NULL
     AND NOT EXISTS (SELECT 1 FROM event_noise n WHERE n.event = e.id AND n.rules_digest = s.rules_digest)
     ORDER BY e.id`,
  )
    .all(after, until)
    .map(fromStored);
}

/** Returns the id of the last event that was judged when it was recorded. */
export function lastJudgedEvent(database: ReadDatabase): number {
  return (
    statement<{ value: number }>(database, "SELECT value FROM counters WHERE name = 'events_judged'").get()
      ?.value ?? 0
  );
}

export function setLastJudgedEvent(database: WriteDatabase, id: number): void {
  statement(database, "UPDATE counters SET value = ? WHERE name = 'events_judged'").run(id);
}
