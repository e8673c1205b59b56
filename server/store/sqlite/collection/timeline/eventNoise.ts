import { createHash } from 'node:crypto';
import type { Event } from '../../../../../shared/collection/event.ts';
import {
  type NoiseRule,
  type Scope,
  type Watch,
  watchedRegion,
} from '../../../../../shared/collection/noise.ts';
import { canonicalText } from '../../../../../shared/values/canonicalJson.ts';
import { ID_DIGITS } from '../../../../../shared/values/digest.ts';
import type { ReadDatabase, WriteDatabase } from '../../engine/open.ts';
import {
  change,
  hasRow,
  onSnapshot,
  selectAll,
  selectOne,
  selectTuples,
  selectValue,
} from '../../engine/queries.ts';

/**
 * Returns the digest of what is watched and of a set of rules: the first digits of the SHA-256 of its canonical JSON,
 * without the notes, which do not affect the result. Null for everything without rules.
 */
export function scopeDigest({ watch, rules }: Scope): string | null {
  if (watch === null && rules.length === 0) return null;
  const applied = rules.map(({ kind, value, columns }) => ({ kind, value, ...(columns && { columns }) }));
  // Without a watched part, the digest is that of earlier versions.
  const digested = canonicalText(watch === null ? applied : { watch, rules: applied });
  return createHash('sha256').update(digested).digest('hex').slice(0, ID_DIGITS);
}

/** The SQL column for whether a change is only noise by the current rules of its source (`events e`, `sources s`). */
export const IS_NOISE_COLUMN = `(SELECT n.is_noise FROM event_noise n
  WHERE n.event = e.id AND n.rules_digest = s.rules_digest) AS is_noise`;

/** The SQL column for whether a change is outside the watched part of its source (`events e`, `sources s`). */
export const OUTSIDE_COLUMN = `EXISTS (SELECT 1 FROM event_noise n
  WHERE n.event = e.id AND n.outside = 1 AND n.rules_digest = s.rules_digest) AS outside`;

/** The ids of the changes outside the watched parts of their sources, as SQL. They are few. */
export const OUTSIDE_EVENTS = `SELECT n.event FROM event_noise n INDEXED BY event_noise_outside
  JOIN events e ON e.id = n.event JOIN sources s ON s.key = e.source_key
  WHERE n.outside = 1 AND n.rules_digest = s.rules_digest`;

/** The result of judging one event. */
export interface EventNoise {
  event: number;
  is_noise: boolean;
  outside: boolean;
  rules_digest: string;
}

/** The SQL condition that an event `e` is only noise by the current rules of its source. */
export const IS_NOISE = `EXISTS (SELECT 1 FROM event_noise n JOIN sources s ON s.key = e.source_key
  WHERE n.event = e.id AND n.is_noise = 1 AND n.rules_digest = s.rules_digest)`;

/** Stores the results for events, replacing earlier ones. */
export function putEventNoise(database: WriteDatabase, found: readonly EventNoise[]): void {
  for (const noise of found)
    putNoise(database, { ...noise, is_noise: Number(noise.is_noise), outside: Number(noise.outside) });
}

const putNoise = change<
  [noise: Pick<EventNoise, 'event' | 'rules_digest'> & { is_noise: number; outside: number }]
>(`
  INSERT OR REPLACE INTO event_noise (event, is_noise, outside, rules_digest, change)
  VALUES ($event, $is_noise, $outside, $rules_digest, (SELECT coalesce(max(change), 0) + 1 FROM event_noise))`);

/** The digests of the older and the newer object. */
interface Compared {
  from: string;
  to: string;
}

/** The objects in which a part of a drawn page is looked for. */
type ShownPage = [document: string, picture: string];

/** An event with an older and a newer version, and what of its source is compared. */
export interface ComparableEvent {
  id: number;
  source_id: string;
  observed_at: string;
  sha256: string;
  previous_sha256: string;
  /** What is compared: the two versions or, if a part of drawn pages is watched, their documents or pictures. */
  compared: Compared;
  /** What the drawn pages show; null if the versions are none. */
  pages: { from: ShownPage; to: ShownPage } | null;
  scope: Scope;
  rules_digest: string | null;
}

type Stored = Omit<ComparableEvent, 'scope' | 'compared' | 'pages'> & {
  noise_rules: string | null;
  watch: string | null;
  in_page: 0 | 1;
  from_page: string | null;
  to_page: string | null;
};

/** What the page captures of an event show, as SQL: a `ShownPage` as JSON. */
const SHOWN_PAGES = `iif(e.page IS NULL, NULL, (SELECT json_extract(p.record, '$.document', '$.picture')
      FROM page_captures p WHERE p.id = e.page)) AS to_page,
    iif(e.page IS NULL, NULL, (SELECT json_extract(p.record, '$.document', '$.picture')
      FROM events b JOIN page_captures p ON p.id = b.page
      WHERE b.sha256 = e.previous_sha256 AND b.source_key = e.source_key AND b.observer = e.observer AND b.id < e.id
      ORDER BY b.id DESC LIMIT 1)) AS from_page`;

/** Whether an event is of what a server sent for a page that a browser then drew, as SQL: the part may be in what it drew. */
const IN_PAGE = `s.capture = 'page' AND s.page_error IS NULL AND e.page IS NULL
  AND (SELECT ${isPageSql('r.content_type')} FROM retrievals r WHERE r.id = e.retrieval)`;

/** `index` fixes the query plan: there may be a million events, and all may be changes. */
const comparable = (
  index: string,
) => `SELECT e.id, s.id AS source_id, e.observed_at, e.sha256, e.previous_sha256,
    s.noise_rules, s.watch, s.rules_digest, ${IN_PAGE} AS in_page, ${SHOWN_PAGES}
  FROM events e ${index} CROSS JOIN sources s ON s.key = e.source_key
  WHERE e.event_type = 'changed' AND e.sha256 IS NOT NULL AND e.previous_sha256 IS NOT NULL`;
const BY_NUMBER = comparable('NOT INDEXED');
const BY_SOURCE = comparable('INDEXED BY events_by_source');

function fromStored(stored: Stored): ComparableEvent {
  const { noise_rules, watch, in_page, from_page, to_page, ...row } = stored;
  const scope = scopeOf({ noise_rules, watch, in_page });
  const [from, to] = [shownPage(from_page), shownPage(to_page)];
  const pages = from && to ? { from, to } : null;
  return { ...row, compared: comparedOf({ ...row, pages }, scope.watch), pages, scope };
}

function shownPage(json: string | null): ShownPage | null {
  return json === null ? null : (JSON.parse(json) as ShownPage);
}

/** A part of a drawn page is in its document, a region in its picture: its text has neither. */
function comparedOf(
  { previous_sha256, sha256, pages }: Pick<ComparableEvent, 'previous_sha256' | 'sha256' | 'pages'>,
  watch: Watch | null,
): Compared {
  if (!watch || !pages) return { from: previous_sha256, to: sha256 };
  return { from: partOfPage(pages.from, watch), to: partOfPage(pages.to, watch) };
}

function partOfPage([document, picture]: ShownPage, watch: Watch): string {
  return watchedRegion(watch) ? picture : document;
}

function scopeOf({ noise_rules, watch, in_page }: Pick<Stored, 'noise_rules' | 'watch' | 'in_page'>): Scope {
  return {
    watch: watch === null ? null : (JSON.parse(watch) as Watch),
    rules: noise_rules === null ? [] : (JSON.parse(noise_rules) as NoiseRule[]),
    elsewhere: in_page === 1,
  };
}

/** Returns an event with something else to be compared. */
export function withScope(event: ComparableEvent, { watch, rules }: Scope): ComparableEvent {
  return {
    ...event,
    scope: { ...event.scope, watch, rules },
    compared: comparedOf(event, watch),
    rules_digest: scopeDigest({ watch, rules }),
  };
}

/** Two versions, or a first one, and what of them counts. */
export interface Change {
  from: string | null;
  to: string;
  scope: Scope;
}

/** Returns the versions of a change or of a first version; undefined for any other event. */
export function changeOf(database: ReadDatabase, event: Event): Change | undefined {
  if (event.event_type === 'changed') {
    const found = comparableEvent(database, event.id);
    return found && { ...found.compared, scope: found.scope };
  }
  if (event.event_type !== 'first_seen') return undefined;
  const first = firstVersion(database, event.id);
  if (!first) return undefined;
  const scope = scopeOf(first);
  const page = shownPage(first.to_page);
  return { from: null, to: scope.watch && page ? partOfPage(page, scope.watch) : first.sha256, scope };
}

const firstVersion = selectOne<Omit<Stored, 'sha256'> & { sha256: string }, [id: number]>(`
  SELECT e.sha256, s.noise_rules, s.watch, ${IN_PAGE} AS in_page, ${SHOWN_PAGES}
  FROM events e JOIN sources s ON s.key = e.source_key WHERE e.id = ? AND e.sha256 IS NOT NULL`);

/** Returns the digests of everything that a description of an event may quote. */
export function quotedDigests(
  database: ReadDatabase,
  { id, sha256, previous_sha256, page }: Pick<Event, 'id' | 'sha256' | 'previous_sha256' | 'page'>,
): string[] {
  const compared = page === null ? undefined : comparableEvent(database, id)?.compared;
  return [sha256, previous_sha256, ...(compared ? [compared.from, compared.to] : [])].filter(
    (digest) => digest !== null,
  );
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
  return comparableBefore(database, sourceKey, before?.observed_at ?? '\uffff', before?.id ?? 0, limit);
}

const comparableBefore = selectAll<
  Stored,
  [sourceKey: number, observedAt: string, id: number, limit: number],
  ComparableEvent
>(
  `${BY_SOURCE} AND e.source_key = ? AND (e.observed_at, e.id) < (?, ?)
   ORDER BY e.observed_at DESC, e.id DESC LIMIT ?`,
  fromStored,
);

/** Returns the number of events of a source with two versions. */
export const countComparable = selectValue<number, [sourceKey: number]>(
  "SELECT coalesce(sum(count), 0) AS count FROM event_counts WHERE source_key = ? AND event_type = 'changed'",
  0,
);

/** Whether any source has rules or a watched part. */
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
    const rows = newerMarks(this.#database, ...this.#lastRow, limit);
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
      const found =
        this.#lastRevision === undefined
          ? allRules(this.#database)
          : changedRules(this.#database, this.#lastRevision);
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

const newerMarks = selectTuples<MarkRow, [change: number, event: number, limit: number]>(`
  SELECT change, event, is_noise, rules_digest FROM event_noise INDEXED BY event_noise_by_change
  WHERE (change, event) > (?, ?) ORDER BY change, event LIMIT ?`);

const allRules = selectTuples<RulesRow>(
  'SELECT key, rules_digest FROM sources INDEXED BY sources_with_rules WHERE rules_digest IS NOT NULL',
);

const changedRules = selectTuples<RulesRow, [after: number]>(`
  SELECT key, rules_digest FROM sources
  WHERE key IN (SELECT source_key FROM source_revisions WHERE ledger_entry > ?)`);

const lastRevision = selectValue<number>('SELECT coalesce(max(ledger_entry), 0) FROM source_revisions', 0);

function grown(old: Uint32Array<ArrayBuffer>, highest: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(Math.ceil((highest + 1) * GROWTH));
  larger.set(old);
  return larger;
}

/** The watched part of a source, and the object in which it is to be looked for. */
export interface WatchedPart {
  key: number;
  watch: Watch;
  /** Null if there is no version yet; `NO_PICTURE` if the newest version has no picture, and a region of it is watched. */
  sha256: string | null;
  /** The object in which it was last looked for. */
  watch_sought: string | null;
}

/** In place of the digest of a picture that there is not: the page could not be drawn, or the answer was no page. */
export const NO_PICTURE = 'none';

/** Whether a content type is one that a browser draws as a page, as SQL. */
function isPageSql(contentType: string): string {
  return `coalesce(ltrim(${contentType}) LIKE 'text/html%' OR ltrim(${contentType}) LIKE 'application/xhtml+xml%', 0)`;
}

/** What the newest page of a source (`sources`) shows, as SQL. */
const shown = (
  part: 'document' | 'picture',
) => `(SELECT json_extract(record, '$.${part}') FROM page_captures INDEXED BY page_captures_by_source
  WHERE source_key = sources.key AND observer IS NULL ORDER BY started_at DESC, ledger_entry DESC LIMIT 1)`;

/** The object in which the part of a source is watched, as SQL: its newest version, or the newest page as it was drawn. */
const NEWEST = `iif(capture = 'page', ${shown('document')}, last_sha256)`;

/** The picture in which the region of a source is watched, as SQL. */
const NEWEST_PICTURE = `CASE
  WHEN page_error IS NOT NULL THEN '${NO_PICTURE}'
  WHEN NOT (SELECT ${isPageSql('r.content_type')} FROM retrievals r INDEXED BY retrievals_by_source
    WHERE r.source_key = sources.key AND part_of IS NULL AND observer = 'self' AND sha256 IS NOT NULL
    ORDER BY id DESC LIMIT 1) THEN '${NO_PICTURE}'
  ELSE ${shown('picture')} END`;

/** Returns the digest of the object in which a part of a source is watched; undefined if there is none. */
export function newestVersion(database: ReadDatabase, key: number, watch: Watch | null): string | undefined {
  return watchedRegion(watch) ? newestPicture(database, key) : newestDocument(database, key);
}

const newestPicture = selectValue<string, [key: number]>(
  `SELECT ${shown('picture')} FROM sources WHERE key = ?`,
);
const newestDocument = selectValue<string, [key: number]>(`SELECT ${NEWEST} FROM sources WHERE key = ?`);

/** Returns the watched parts of sources after a key. */
export const watchedParts = selectAll<
  Omit<WatchedPart, 'watch'> & { watch: string },
  [after: number, limit: number],
  WatchedPart
>(
  `SELECT key, watch, watch_sought,
     iif(json_type(watch, '$.region') IS NULL, ${NEWEST}, ${NEWEST_PICTURE}) AS sha256 FROM sources INDEXED BY sources_with_watch
   WHERE watch IS NOT NULL AND removed = 0 AND key > ? ORDER BY key LIMIT ?`,
  (row) => ({ ...row, watch: JSON.parse(row.watch) as Watch }),
);

/**
 * Records whether the watched part is in an object. Nothing is recorded if another part is watched by now.
 *
 * @param lost_at when it was found to be missing; null if it is there
 */
export const recordSearch = change<
  [found: { key: number; watch: string; sha256: string; lost_at: string | null }]
>(`
  UPDATE sources SET watch_sought = $sha256,
    watch_lost_at = iif($lost_at IS NULL, NULL, coalesce(watch_lost_at, $lost_at))
  WHERE key = $key AND watch = $watch`);
