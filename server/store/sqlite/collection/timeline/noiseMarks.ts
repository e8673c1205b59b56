import { type ReadDatabase, statement } from '../../engine/open.ts';

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
    const rows = this.#database
      .transaction(() => {
        const changed =
          this.#lastRevision === undefined
            ? 'SELECT key, rules_digest FROM sources INDEXED BY sources_with_rules WHERE rules_digest IS NOT NULL AND @after IS NULL'
            : 'SELECT key, rules_digest FROM sources WHERE key IN (SELECT source_key FROM source_revisions WHERE ledger_entry > @after)';
        const found = statement<RulesRow>(this.#database, changed)
          .raw()
          .all({ after: this.#lastRevision ?? null });
        this.#lastRevision = lastRevision(this.#database);
        return found;
      })
      .deferred();
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

function lastRevision(database: ReadDatabase): number {
  return (
    statement<number>(database, 'SELECT coalesce(max(ledger_entry), 0) FROM source_revisions')
      .pluck()
      .get() ?? 0
  );
}

function grown(old: Uint32Array<ArrayBuffer>, highest: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(Math.ceil((highest + 1) * GROWTH));
  larger.set(old);
  return larger;
}
