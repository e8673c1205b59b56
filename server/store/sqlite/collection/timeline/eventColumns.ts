import { EVENT_TYPES, type EventType, type LabelFilter } from '../../../../../shared/collection/event.ts';
import { yieldToEventLoop } from '../../../../runtime/background.ts';
import type { ReadDatabase, WriteDatabase } from '../../engine/open.ts';
import { change, columnOf, selectTuples, selectValue, selectValues } from '../../engine/queries.ts';
import { NoiseMarks, OUTSIDE_EVENTS } from './eventNoise.ts';
import { lastEventId } from './events.ts';

/** The ids of a page of events, newest first, and the total number of matches. */
export interface EventIdPage {
  ids: number[];
  total: number;
}

type Row = [id: number, observed_at: string, source_key: number, event_type: EventType, observer: string];

/** The number of events read in one turn of the event loop: about 5 ms. */
const ROWS_AT_ONCE = 5_000;
/** The initial capacity of the columns, and its growth factor. */
const INITIAL_CAPACITY = 1_024;
const GROWTH = 1.25;
/** The number of events counted together, before those on the page are selected. */
const BLOCK = 1_024;

/**
 * The columns by which lists filter events, for all events, in timeline order, in memory: 20 bytes for each event. To
 * count which of a million events belong to one of ten thousand sources, SQLite takes half a second; scanning these
 * columns takes milliseconds for any filter. Events are append-only and numbered without gaps, so new ones are found by
 * their ids. What is noise can change; `NoiseMarks` follows it.
 */
export class EventColumns {
  readonly #database: ReadDatabase;
  #length = 0;
  #times = new Float64Array(INITIAL_CAPACITY);
  #ids = new Uint32Array(INITIAL_CAPACITY);
  #sources = new Uint32Array(INITIAL_CAPACITY);
  /** An event's observer and type: the observer's number times the number of types, plus the type's number. */
  #kinds = new Uint32Array(INITIAL_CAPACITY);
  readonly #observers = new Map<string, number>();
  readonly #noise: NoiseMarks;
  #highestSource = 0;
  /** The id of the last event in the columns. */
  #lastId = 0;
  #isLoaded = false;
  #isReady = false;
  #loading: Promise<void> | undefined;

  constructor(database: ReadDatabase) {
    this.#database = database;
    this.#noise = new NoiseMarks(database);
  }

  /** Whether the columns were loaded once: what is missing since then takes no time. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Reads the missing events, a part in each turn of the event loop. */
  load(): Promise<void> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #load(): Promise<void> {
    if (!this.#isLoaded) await this.#loadInOrder();
    while (this.#database.open && lastEventId(this.#database) - this.#lastId > ROWS_AT_ONCE) {
      this.#readNewer(ROWS_AT_ONCE);
      await yieldToEventLoop();
    }
    while (this.#database.open && this.#noise.readNewer(ROWS_AT_ONCE) === ROWS_AT_ONCE)
      await yieldToEventLoop();
    this.#isReady = true;
  }

  /** Reads all events for the first time, from the index by time, which covers all columns. */
  async #loadInOrder(): Promise<void> {
    this.#length = 0;
    const until = lastEventId(this.#database);
    let after: [string, number] = ['', 0];
    while (this.#database.open) {
      const rows = eventsInOrder(this.#database, ...after, until, ROWS_AT_ONCE);
      for (const row of rows) this.#insert(this.#length, Date.parse(row[1]), row);
      const last = rows.at(-1);
      if (!last || rows.length < ROWS_AT_ONCE) {
        this.#lastId = until;
        this.#isLoaded = true;
        return;
      }
      after = [last[1], last[0]];
      await yieldToEventLoop();
    }
  }

  /** Reads the newest events synchronously, so that a list in the same transaction is of the same snapshot. */
  catchUp(): void {
    if (!this.#isLoaded) throw new Error('The columns of the events are not loaded yet.');
    while (this.#readNewer(ROWS_AT_ONCE) === ROWS_AT_ONCE);
    while (this.#noise.readNewer(ROWS_AT_ONCE) === ROWS_AT_ONCE);
  }

  #readNewer(limit: number): number {
    const rows = newerEvents(this.#database, this.#lastId, limit);
    for (const row of rows) {
      const time = Date.parse(row[1]);
      this.#insert(this.#after(time), time, row);
    }
    this.#lastId = rows.at(-1)?.[0] ?? this.#lastId;
    return rows.length;
  }

  /** Returns the number of events observed until an instant. At the same instant, later recorded ones come last. */
  #after(time: number): number {
    let low = 0;
    let high = this.#length;
    if (high > 0 && (this.#times[high - 1] ?? 0) <= time) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#times[middle] ?? 0) <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #insert(at: number, time: number, [id, _observed_at, source, type, observer]: Row): void {
    if (this.#length === this.#times.length) this.#grow();
    if (at < this.#length) this.#shiftFrom(at);
    const number = this.#observers.get(observer) ?? this.#observers.size;
    this.#observers.set(observer, number);
    this.#times[at] = time;
    this.#ids[at] = id;
    this.#sources[at] = source;
    this.#kinds[at] = number * EVENT_TYPES.length + EVENT_TYPES.indexOf(type);
    this.#highestSource = Math.max(this.#highestSource, source);
    this.#length += 1;
  }

  /** Makes space for an event before existing ones, which happens if the clock was set back. */
  #shiftFrom(at: number): void {
    for (const column of [this.#times, this.#ids, this.#sources, this.#kinds])
      column.copyWithin(at + 1, at, this.#length);
  }

  #grow(): void {
    const capacity = Math.ceil(this.#length * GROWTH);
    this.#times = copyTo(this.#times, new Float64Array(capacity));
    this.#ids = copyTo(this.#ids, new Uint32Array(capacity));
    this.#sources = copyTo(this.#sources, new Uint32Array(capacity));
    this.#kinds = copyTo(this.#kinds, new Uint32Array(capacity));
  }

  /** How many events were observed before an instant. */
  countBefore(instant: string): number {
    return this.#after(Date.parse(instant) - 1);
  }

  /** How many events were observed until an instant, that instant included. */
  countUntil(instant: string): number {
    return this.#after(Date.parse(instant));
  }

  /** When the oldest and the newest event were observed; undefined where there is none. */
  extent(): { first: string; last: string } | undefined {
    const first = this.#times[0];
    const last = this.#times[this.#length - 1];
    if (this.#length === 0 || first === undefined || last === undefined) return undefined;
    return { first: new Date(first).toISOString(), last: new Date(last).toISOString() };
  }

  /** One page of the events that are chosen, and how many there are. */
  list(choice: EventCriteria, { limit, offset }: { limit: number; offset: number }): EventIdPage {
    const from = choice.since === null ? 0 : this.countBefore(choice.since);
    const to = choice.until === null ? this.#length : this.countUntil(choice.until);
    if (filtersByTimeOnly(choice)) {
      const end = Math.max(from, to - offset);
      const ids = [...this.#ids.subarray(Math.max(from, end - limit), end)].reverse();
      return { ids, total: Math.max(0, to - from) };
    }
    const chosen = this.#chosen(choice);
    // Blocks outside the page, and blocks without matches, are scanned only once, for their count.
    const counts: number[] = [];
    for (let start = from; start < to; start += BLOCK)
      counts.push(this.#count(chosen, start, Math.min(start + BLOCK, to)));
    const ids: number[] = [];
    let toSkip = offset;
    for (let block = counts.length - 1; block >= 0 && ids.length < limit; block -= 1) {
      const count = counts[block] ?? 0;
      const start = from + block * BLOCK;
      if (count > toSkip) ids.push(...this.#idsIn(chosen, start, Math.min(start + BLOCK, to)).slice(toSkip));
      toSkip = Math.max(0, toSkip - count);
    }
    return { ids: ids.slice(0, limit), total: counts.reduce((sum, count) => sum + count, 0) };
  }

  #idsIn(chosen: Chosen, from: number, to: number): number[] {
    const ids: number[] = [];
    for (let at = to - 1; at >= from; at -= 1) if (this.#isChosen(chosen, at)) ids.push(this.#ids[at] ?? 0);
    return ids;
  }

  #chosen({ event_type, observer, sources, ids, noise, label, seen }: EventCriteria): Chosen {
    const kinds = new Uint8Array(this.#observers.size * EVENT_TYPES.length);
    for (const [name, number] of this.#observers) {
      if (observer !== null && name !== observer) continue;
      for (const [index, type] of EVENT_TYPES.entries())
        if (event_type === null || type === event_type) kinds[number * EVENT_TYPES.length + index] = 1;
    }
    const named = new Uint8Array(ids.length > 0 ? this.#lastId + 1 : 0);
    return {
      kinds,
      sources: marked(new Uint8Array(this.#highestSource + 1), sources),
      ids: ids.length > 0 ? marked(named, ids) : null,
      noise,
      label: label && this.#labelTable(label),
      seen: seen && { table: seenTable(seen.marks, this.#lastId), value: Number(seen.seen) },
    };
  }

  #labelTable(label: LabelFilter): Chosen['label'] {
    const labelled = labelledEvents(this.#database, label);
    return { table: marked(new Uint8Array(this.#lastId + 1), labelled), value: label === 'none' ? 0 : 1 };
  }

  /** Counts without a branch for each event, which would cost more than everything else. */
  #count(chosen: Chosen, from: number, to: number): number {
    let total = 0;
    if (chosen.ids || chosen.noise !== null || chosen.label || chosen.seen) {
      for (let at = from; at < to; at += 1) total += this.#isChosen(chosen, at);
      return total;
    }
    const { kinds, sources } = chosen;
    for (let at = from; at < to; at += 1)
      total += (kinds[this.#kinds[at] ?? 0] ?? 0) & (sources[this.#sources[at] ?? 0] ?? 0);
    return total;
  }

  #isChosen({ kinds, sources, ids, noise, label, seen }: Chosen, at: number): number {
    const id = this.#ids[at] ?? 0;
    const source = this.#sources[at] ?? 0;
    if (noise !== null && this.#noise.isNoise(id, source) !== noise) return 0;
    if (label && label.table[id] !== label.value) return 0;
    if (seen && seen.table[id] !== seen.value) return 0;
    const byNumber = ids === null ? 0 : (ids[id] ?? 0);
    return (kinds[this.#kinds[at] ?? 0] ?? 0) & ((sources[source] ?? 0) | byNumber);
  }
}

/** Tables with a 1 for each kind, source and id that matches. */
interface Chosen {
  kinds: Uint8Array;
  sources: Uint8Array;
  ids: Uint8Array | null;
  noise: boolean | null;
  /** A 1 for each labelled event, by id, and the wanted value. */
  label: { table: Uint8Array; value: number } | null;
  /** A 1 for each event that was seen, by id, and the wanted value. */
  seen: { table: Uint8Array; value: number } | null;
}

/** Sets the entries of these numbers, or all, to 1. Larger numbers belong to no event. */
function marked(marks: Uint8Array, numbers: readonly number[] | null): Uint8Array {
  if (numbers === null) return marks.fill(1);
  for (const number of numbers) marks[number] = 1;
  return marks;
}

function copyTo<Column extends Float64Array | Uint32Array>(old: Column, larger: Column): Column {
  larger.set(old);
  return larger;
}

const ofDatabases = new WeakMap<ReadDatabase, EventColumns>();

/** Returns the columns for a connection. */
export function eventColumns(database: ReadDatabase): EventColumns {
  const columns = ofDatabases.get(database) ?? new EventColumns(database);
  ofDatabases.set(database, columns);
  return columns;
}

/** The criteria of a list of events; null matches all. */
interface EventCriteria {
  /** Keys of sources. */
  sources: readonly number[] | null;
  /** Ids of events that match whatever their source. Only used together with `sources`. */
  ids: readonly number[];
  event_type: EventType | null;
  observer: string | null;
  /** Instants, both inclusive. */
  since: string | null;
  until: string | null;
  noise: boolean | null;
  label: LabelFilter | null;
  seen: { marks: SeenMarks; seen: boolean } | null;
}

/** The criteria of all events. */
export const EVERY_EVENT: EventCriteria = {
  sources: null,
  ids: [],
  event_type: null,
  observer: null,
  since: null,
  until: null,
  noise: null,
  label: null,
  seen: null,
};

/** Whether events are selected by time alone: they are then adjacent. */
function filtersByTimeOnly({ sources, event_type, observer, noise, label, seen }: EventCriteria): boolean {
  return [sources, event_type, observer, noise, label, seen].every((criterion) => criterion === null);
}

/** Returns a query for the ids of the events with a label, which are few. The parameter is `label`. */
function labelled(label: LabelFilter): string {
  if (label === 'outside') return OUTSIDE_EVENTS;
  const recorded = 'SELECT id FROM events INDEXED BY events_with_label WHERE page_label IS NOT NULL';
  if (label === 'any' || label === 'none') return `${recorded} UNION ${OUTSIDE_EVENTS}`;
  return `${recorded} AND json_extract(page_label, '$.label') = $label`;
}

/** Returns the SQL condition of the filter by label on the column `id`. The parameter is `label`. */
export function labelCondition(label: LabelFilter): string {
  return `id ${label === 'none' ? 'NOT IN' : 'IN'} (${labelled(label)})`;
}

/** Returns the ids of the events with a label; with any label for `none`. */
function labelledEvents(database: ReadDatabase, label: LabelFilter): number[] {
  return columnOf(database, labelled(label), { label });
}

/** Which events the owner has seen: all up to an id, except that the state of single events is reversed. */
export interface SeenMarks {
  until: number;
  /** Ids: unseen ones up to `until`, seen ones after it. Ascending. */
  exceptions: number[];
}

export function readSeenMarks(database: ReadDatabase): SeenMarks {
  return { until: seenUntil(database), exceptions: seenExceptions(database) };
}

const seenUntil = selectValue<number>("SELECT value FROM counters WHERE name = 'events_seen_until'", 0);
const seenExceptions = selectValues<number>('SELECT event FROM seen_exceptions ORDER BY event');

export function writeSeenMarks(database: WriteDatabase, { until, exceptions }: SeenMarks): void {
  setSeenUntil(database, until);
  deleteExceptions(database);
  insertExceptions(database, exceptions);
}

const setSeenUntil = change<[id: number]>("UPDATE counters SET value = ? WHERE name = 'events_seen_until'");
const deleteExceptions = change('DELETE FROM seen_exceptions');
const insertExceptions = change<[events: readonly number[]]>(
  'INSERT INTO seen_exceptions (event) SELECT value FROM json_each(?)',
);

/** Returns a table with a 1 for each event up to `lastId` that was seen. */
function seenTable({ until, exceptions }: SeenMarks, lastId: number): Uint8Array {
  const table = new Uint8Array(lastId + 1).fill(1, 0, Math.min(until, lastId) + 1);
  for (const event of exceptions) if (event <= lastId) table[event] = event <= until ? 0 : 1;
  return table;
}

const eventsInOrder = selectTuples<Row, [observedAt: string, id: number, until: number, limit: number]>(`
  SELECT id, observed_at, source_key, event_type, observer FROM events INDEXED BY events_by_time
  WHERE (observed_at, id) > (?, ?) AND id <= ? ORDER BY observed_at, id LIMIT ?`);

const newerEvents = selectTuples<Row, [id: number, limit: number]>(
  'SELECT id, observed_at, source_key, event_type, observer FROM events WHERE id > ? ORDER BY id LIMIT ?',
);
