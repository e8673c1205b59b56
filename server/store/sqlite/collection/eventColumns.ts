import { setImmediate as nextTurn } from 'node:timers/promises';
import { EVENT_TYPES, type EventType } from '../../../../shared/event.ts';
import { type ReadDatabase, statement } from '../engine/open.ts';
import { lastEventId } from './events.ts';

/** Which events are counted; null stands for all. */
export interface EventCriteria {
  /** Sources by their keys. */
  sources: readonly number[] | null;
  /** Events by their numbers, whatever their source. Only where `sources` are named. */
  ids: readonly number[];
  event_type: EventType | null;
  observer: string | null;
  /** Instants, both inclusive. */
  since: string | null;
  until: string | null;
}

/** The numbers of one page of events, newest first, and how many there are. */
export interface EventIdPage {
  ids: number[];
  total: number;
}

type Row = [id: number, observed_at: string, source_key: number, event_type: EventType, observer: string];

/** So many events are read in one turn of the event loop: about 5 ms. */
const ROWS_AT_ONCE = 5_000;
/** What there is room for at first, and how it grows. */
const LEAST_ROOM = 1_024;
const GROWTH = 1.25;
/** So many events are counted together before it is looked which of them are on the page. */
const BLOCK = 1_024;

/**
 * What lists choose events by, of all events, in the order of the timeline: 20 bytes each, in memory. SQLite takes half
 * a second to count which of a million events belong to one of ten thousand sources; going over these takes milliseconds,
 * whatever is asked for. Events are append-only and numbered without a gap, so what is missing here is known by number.
 */
export class EventColumns {
  readonly #database: ReadDatabase;
  #length = 0;
  #times = new Float64Array(LEAST_ROOM);
  #ids = new Uint32Array(LEAST_ROOM);
  #sources = new Uint32Array(LEAST_ROOM);
  /** An event's observer and type: `KINDS` times the observer's number, plus the type's. */
  #kinds = new Uint32Array(LEAST_ROOM);
  readonly #observers = new Map<string, number>();
  #highestSource = 0;
  /** All events up to this number are here. */
  #lastId = 0;
  #isLoaded = false;
  #loading: Promise<void> | undefined;

  constructor(database: ReadDatabase) {
    this.#database = database;
  }

  /** Reads what is missing, a little in each turn of the event loop. */
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
      await nextTurn();
    }
  }

  /** The first time: along the index by time, which holds all that is needed and nothing else. */
  async #loadInOrder(): Promise<void> {
    this.#length = 0;
    const until = lastEventId(this.#database);
    const next = statement<Row>(
      this.#database,
      `SELECT id, observed_at, source_key, event_type, observer FROM events INDEXED BY events_by_time
       WHERE (observed_at, id) > (?, ?) AND id <= ? ORDER BY observed_at, id LIMIT ?`,
    ).raw();
    let after: [string, number] = ['', 0];
    while (this.#database.open) {
      const rows = next.all(...after, until, ROWS_AT_ONCE);
      for (const row of rows) this.#insert(this.#length, Date.parse(row[1]), row);
      const last = rows.at(-1);
      if (!last || rows.length < ROWS_AT_ONCE) {
        this.#lastId = until;
        this.#isLoaded = true;
        return;
      }
      after = [last[1], last[0]];
      await nextTurn();
    }
  }

  /** Reads what came since they were loaded, so that a list in the same transaction is of the same moment. */
  catchUp(): void {
    if (!this.#isLoaded) throw new Error('Events are listed once their columns are loaded.');
    while (this.#readNewer(ROWS_AT_ONCE) === ROWS_AT_ONCE);
  }

  #readNewer(limit: number): number {
    const rows = statement<Row>(
      this.#database,
      'SELECT id, observed_at, source_key, event_type, observer FROM events WHERE id > ? ORDER BY id LIMIT ?',
    )
      .raw()
      .all(this.#lastId, limit);
    for (const row of rows) {
      const time = Date.parse(row[1]);
      this.#insert(this.#after(time), time, row);
    }
    this.#lastId = rows.at(-1)?.[0] ?? this.#lastId;
    return rows.length;
  }

  /** How many were observed until an instant; what is recorded later comes after what was observed at the same one. */
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
    if (at < this.#length) this.#makePlace(at);
    const number = this.#observers.get(observer) ?? this.#observers.size;
    this.#observers.set(observer, number);
    this.#times[at] = time;
    this.#ids[at] = id;
    this.#sources[at] = source;
    this.#kinds[at] = number * EVENT_TYPES.length + EVENT_TYPES.indexOf(type);
    this.#highestSource = Math.max(this.#highestSource, source);
    this.#length += 1;
  }

  /** Where the clock was set back, an event comes before some that are here. */
  #makePlace(at: number): void {
    for (const column of [this.#times, this.#ids, this.#sources, this.#kinds])
      column.copyWithin(at + 1, at, this.#length);
  }

  #grow(): void {
    const room = Math.ceil(this.#length * GROWTH);
    this.#times = grown(this.#times, new Float64Array(room));
    this.#ids = grown(this.#ids, new Uint32Array(room));
    this.#sources = grown(this.#sources, new Uint32Array(room));
    this.#kinds = grown(this.#kinds, new Uint32Array(room));
  }

  /** One page of the events that are chosen, and how many there are. */
  list(choice: EventCriteria, { limit, offset }: { limit: number; offset: number }): EventIdPage {
    const from = choice.since === null ? 0 : this.#after(Date.parse(choice.since) - 1);
    const to = choice.until === null ? this.#length : this.#after(Date.parse(choice.until));
    const chosen = this.#chosen(choice);
    // Blocks that the page does not reach into, and those of which nothing is chosen, are gone over once only.
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

  #chosen({ event_type, observer, sources, ids }: EventCriteria): Chosen {
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
    };
  }

  /** Without a branch for each event, which costs more than all else. */
  #count(chosen: Chosen, from: number, to: number): number {
    let total = 0;
    if (chosen.ids) {
      for (let at = from; at < to; at += 1) total += this.#isChosen(chosen, at);
      return total;
    }
    const { kinds, sources } = chosen;
    for (let at = from; at < to; at += 1)
      total += (kinds[this.#kinds[at] ?? 0] ?? 0) & (sources[this.#sources[at] ?? 0] ?? 0);
    return total;
  }

  #isChosen({ kinds, sources, ids }: Chosen, at: number): number {
    const ofSource = sources[this.#sources[at] ?? 0] ?? 0;
    const byNumber = ids === null ? 0 : (ids[this.#ids[at] ?? 0] ?? 0);
    return (kinds[this.#kinds[at] ?? 0] ?? 0) & (ofSource | byNumber);
  }
}

/** A 1 for each kind, source and number that is chosen. */
interface Chosen {
  kinds: Uint8Array;
  sources: Uint8Array;
  ids: Uint8Array | null;
}

/** Marks these numbers, or all. What lies beyond is no event's. */
function marked(marks: Uint8Array, numbers: readonly number[] | null): Uint8Array {
  if (numbers === null) return marks.fill(1);
  for (const number of numbers) marks[number] = 1;
  return marks;
}

function grown<Column extends Float64Array | Uint32Array>(old: Column, larger: Column): Column {
  larger.set(old);
  return larger;
}

const ofDatabases = new WeakMap<ReadDatabase, EventColumns>();

/** The columns of what this connection reads. */
export function eventColumns(database: ReadDatabase): EventColumns {
  const columns = ofDatabases.get(database) ?? new EventColumns(database);
  ofDatabases.set(database, columns);
  return columns;
}
