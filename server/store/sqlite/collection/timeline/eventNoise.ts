import { createHash } from 'node:crypto';
import type { NoiseRule } from '../../../../../shared/collection/noise.ts';
import { canonicalText } from '../../../../../shared/values/canonicalJson.ts';
import { ID_DIGITS } from '../../../../../shared/values/digest.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../../engine/open.ts';
import { change, hasRow, onSnapshot, selectAll, selectOne, selectValue } from '../../engine/queries.ts';

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
export const comparableEvent = selectOne<Stored, [id: number], ComparableEvent>(
  `${BY_NUMBER} AND e.id = ?`,
  fromStored,
);

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
export const countComparable = selectValue<number, [sourceKey: number]>(
  "SELECT coalesce(sum(count), 0) AS count FROM event_counts WHERE source_key = ? AND event_type = 'changed'",
  0,
);

/** Whether any source has rules. */
export const hasRules = hasRow(
  'SELECT 1 FROM sources INDEXED BY sources_with_rules WHERE rules_digest IS NOT NULL',
);

/** Returns the unjudged events with two versions whose source has rules, with ids after `after` up to `until`. */
export const eventsToJudge = selectAll<Stored, [values: { after: number; until: number }], ComparableEvent>(
  `${BY_NUMBER} AND e.id > $after AND e.id <= $until AND s.rules_digest IS NOT NULL
     AND NOT EXISTS (SELECT 1 FROM event_noise n WHERE n.event = e.id AND n.rules_digest = s.rules_digest)
     ORDER BY e.id`,
  fromStored,
);

/** Returns the id of the last event that was judged when it was recorded. */
export const lastJudgedEvent = selectValue<number>(
  "SELECT value FROM counters WHERE name = 'events_judged'",
  0,
);

export const setLastJudgedEvent = change<[id: number]>(
  "UPDATE counters SET value = ? WHERE name = 'events_judged'",
);

type MarkRow = [change: number, event: number, is_noise: number, rules_digest: string];
type RulesRow = [key: number, rules_digest: string | null];

const GROWTH = 1.25;

/**
 * Which events are only noise, in memory: for each event the set of rules by which it is, and for each source its current
 * set. A mark counts only under the current rules, so a change of rules is followed by reading one row.
 */
export class NoiseMarks {
  readonly #database: ReadDatabase;
  /** By the id of the event: the number of the set of rules by which it is noise, or 0. */
  #marks = new Uint32Array(0);
  /** By the key of the source: the number of its current set of rules, or 0. */
  #current = new Uint32Array(0);
  /** The number of each set of rules, from 1, by its digest. */
  readonly #numbers = new Map<string, number>();
  #lastRow: [change: number, event: number] = [0, 0];
  #lastRevision: number | undefined;

  constructor(database: ReadDatabase) {
    this.#database = database;
  }

  /** Returns whether an event is only noise, by the current rules of its source. */
  isNoise(event: number, source: number): boolean {
    const mark = this.#marks[event] ?? 0;
    return mark !== 0 && mark === this.#current[source];
  }

  /** Reads all changes of rules, and up to `limit` changes of marks. Returns how many marks it read. */
  readNewer(limit: number): number {
    this.#readRules();
    const rows = statement<MarkRow>(
      this.#database,
      `SELECT change, event, is_noise, rules_digest FROM event_noise INDEXED BY event_noise_by_change
       WHERE (change, event) > (?, ?) ORDER BY change, event LIMIT ?`,
    )
      .raw()
      .all(...this.#lastRow, limit);
    for (const [change, event, is_noise, digest] of rows) {
      if (event >= this.#marks.length) this.#marks = grown(this.#marks, event);
      this.#marks[event] = is_noise === 1 ? this.#numberOf(digest) : 0;
      this.#lastRow = [change, event];
    }
    return rows.length;
  }

  /** Each change of rules is a revision of its source; revisions are append-only. */
  #readRules(): void {
    const rows = onSnapshot(this.#database, () => {
      const changed =
        this.#lastRevision === undefined
          ? 'SELECT key, rules_digest FROM sources INDEXED BY sources_with_rules WHERE rules_digest IS NOT NULL AND @after IS NULL'
          : 'SELECT key, rules_digest FROM sources WHERE key IN (SELECT source_key FROM source_revisions WHERE ledger_entry > @after)';
      const found = statement<RulesRow>(this.#database, changed)
        .raw()
        .all({ after: this.#lastRevision ?? null });
      this.#lastRevision = lastRevision(this.#database);
      return found;
    });
    for (const [key, digest] of rows) {
      if (key >= this.#current.length) this.#current = grown(this.#current, key);
      this.#current[key] = digest === null ? 0 : this.#numberOf(digest);
    }
  }

  #numberOf(digest: string): number {
    const number = this.#numbers.get(digest) ?? this.#numbers.size + 1;
    this.#numbers.set(digest, number);
    return number;
  }
}

const lastRevision = selectValue<number>('SELECT coalesce(max(ledger_entry), 0) FROM source_revisions', 0);

function grown(old: Uint32Array<ArrayBuffer>, highest: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(Math.ceil((highest + 1) * GROWTH));
  larger.set(old);
  return larger;
}
