import { join } from 'node:path';
import { readEventDensity } from '../../server/collection/eventDensity.ts';
import { listEvents } from '../../server/collection/events.ts';
import { readStats, readStatus } from '../../server/collection/status.ts';
import { statement, type WriteDatabase } from '../../server/store/sqlite/open.ts';
import { insertSource } from '../../server/store/sqlite/sources.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { systemClock } from '../../shared/clock.ts';
import { eventsQuery } from '../../shared/event.ts';
import { DEFAULT_SETTINGS } from '../../shared/settings.ts';
import { type Bench, type Measurement, percentile } from './bench.ts';

const EVENTS = 1_000_000;
const SOURCES = 20_000;
const START = Date.parse('2024-01-01T00:00:00.000Z');
/** An event every minute. */
const STEP_MS = 60_000;

/** What is asked of the timeline, and within how many milliseconds half of the answers must come. */
const QUESTIONS: [what: string, query: object, reach: number][] = [
  ['the first page', {}, 3],
  ['offset 900000', { offset: '900000' }, 10],
  ['a rare word', { q: 'zircon' }, 5],
  ['a word in half of the sources', { q: 'even' }, 50],
  ['a word in half of them, offset 200000', { q: 'even', offset: '200000' }, 100],
  ['a word in one of a hundred', { q: 'hundredth' }, 20],
  ['the beginning of a digest', { q: digestOf(777_777).slice(0, 12) }, 5],
  ['four hex digits', { q: digestOf(777_777).slice(0, 4) }, 10],
  ['a rare type', { event_type: 'disappeared' }, 5],
  ['one source', { source: sourceIdOf(7) }, 5],
  ['a tag', { tag: 'tag7' }, 20],
  ['an agency and a type', { agency: 'Agency 3', event_type: 'changed' }, 20],
  ['one day', { since: '2025-01-01', until: '2025-01-01' }, 10],
  ['a year', { since: '2025-01-01', until: '2025-12-31' }, 100],
  ['a word and a month', { q: 'hundredth', since: '2025-03-01', until: '2025-03-31' }, 50],
];

/** Reads the timeline of a million events, each question thirty times, in the process that serves it. */
export const timeline: Bench = {
  name: 'timeline',
  async run(folder): Promise<Measurement[]> {
    const store = await openStore({ folder: join(folder, 'data'), clock: systemClock });
    await fill(store);
    const measured: Measurement[] = [];
    for (const [what, asked, reach] of QUESTIONS) {
      const query = eventsQuery.parse(asked);
      const { total } = listEvents(store, query);
      measured.push(measure(`${what} (${total} events)`, reach, () => listEvents(store, query)));
    }
    measured.push(
      measure('how many over time, in 200 buckets', 20, () => readEventDensity(store, { buckets: 200 })),
    );
    measured.push(measure('/api/stats', 1, () => readStats(store)));
    const waits: number[] = [];
    for (let time = 0; time < 30; time += 1) {
      const started = performance.now();
      await readStatus(store, DEFAULT_SETTINGS);
      waits.push(performance.now() - started);
    }
    measured.push(measurementOf('/api/status', 10, waits));
    await store.close();
    return measured;
  },
};

function measure(what: string, reach: number, ask: () => unknown): Measurement {
  const waits: number[] = [];
  for (let time = 0; time < 30; time += 1) {
    const started = performance.now();
    ask();
    waits.push(performance.now() - started);
  }
  return measurementOf(what, reach, waits);
}

function measurementOf(what: string, reach: number, waits: number[]): Measurement {
  const half = percentile(waits, 0.5);
  return {
    what,
    ours: `p50 ${half.toFixed(2)} ms, p95 ${percentile(waits, 0.95).toFixed(2)} ms`,
    reach: `p50 within ${reach} ms`,
    holds: half <= reach,
  };
}

function sourceIdOf(number: number): string {
  return `so_${number.toString(16).padStart(20, '0')}`;
}

/** Digests that look random and are the same on every run. */
function digestOf(number: number): string {
  let digits = '';
  for (let word = 0; word < 8; word += 1)
    digits += (Math.imul(number + 1, 2_654_435_761 + word * 40_503) >>> 0).toString(16).padStart(8, '0');
  return digits;
}

async function fill(store: Store): Promise<void> {
  await store.write((database) => {
    // Digests fall everywhere in their index; the default cache would be read anew for each.
    database.pragma('cache_size = -500000');
    for (let number = 0; number < SOURCES; number += 1) addSource(database, number);
    statement(database, `INSERT INTO blobs VALUES (?, 1, ?)`).run(digestOf(0), instantOf(0));
    statement(
      database,
      `INSERT INTO retrievals (source_key, url, final_url, redirects, observer, observed_at, headers, duration_ms)
       VALUES (1, '', '', '[]', 'self', ?, '[]', 1)`,
    ).run(instantOf(0));
  });
  for (let first = 0; first < EVENTS; first += 50_000) {
    await store.write((database) => {
      for (let number = first; number < first + 50_000; number += 1) addEvent(database, number);
    });
  }
}

function instantOf(number: number): string {
  return new Date(START + number * STEP_MS).toISOString();
}

function addSource(database: WriteDatabase, number: number): void {
  const words = [
    number % 2 === 0 ? 'even' : 'odd',
    number % 100 === 0 ? 'hundredth' : '',
    number === 4_321 ? 'zircon' : '',
  ];
  insertSource(database, {
    id: sourceIdOf(number),
    url: `https://www.agency${number % 50}.example/reports/${number}/annual.html`,
    name: `Report ${number} ${words.join(' ')}`,
    agency: `Agency ${number % 50}`,
    tags: [`tag${number % 200}`, 'all'],
    every_minutes: null,
    max_object_mb: null,
    ignore_robots: false,
    headers: {},
    noise_rules: [],
    paused: false,
    added_at: instantOf(0),
    revision: 1,
    next_check_at: instantOf(0),
  });
}

/** Ledger entries that are only there to be pointed at. */
function addEvent(database: WriteDatabase, number: number): void {
  const id = number + 1;
  const at = instantOf(number);
  const digest = digestOf(number);
  statement(database, `INSERT INTO ledger VALUES (?, ?, 'event.recorded', ?, ?, ?, ?)`).run(
    id,
    at,
    String(id),
    digest,
    digest,
    digest,
  );
  statement(
    database,
    `INSERT INTO events (id, source_key, retrieval, event_type, observer, observed_at, sha256, previous_sha256, ledger_entry)
     VALUES (?, ?, 1, ?, 'self', ?, ?, ?, ?)`,
  ).run(
    id,
    ((Math.imul(number, 48_271) >>> 0) % SOURCES) + 1,
    number < SOURCES ? 'first_seen' : number % 10_007 === 0 ? 'disappeared' : 'changed',
    at,
    digest,
    number < SOURCES ? null : digestOf(number - SOURCES),
    id,
  );
}
