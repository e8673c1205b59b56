import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { EventColumns, type EventCriteria } from '../../server/store/sqlite/collection/eventColumns.ts';
import type { ReadDatabase } from '../../server/store/sqlite/engine/open.ts';
import { EVENT_TYPES } from '../../shared/collection/event.ts';
import { seededRandom } from '../support/seededRandom.ts';

const SOURCES = 40;
const OBSERVERS = ['self', 'webarchive', 'another'];
const START = Date.parse('2026-01-01T00:00:00.000Z');

interface Row {
  id: number;
  observed_at: string;
  source_key: number;
  event_type: (typeof EVENT_TYPES)[number];
  observer: string;
}

/** Opens a table of events, and returns a function that adds some, a few of them observed before existing ones. */
function openEvents(seed: number) {
  const random = seededRandom(seed);
  const below = (bound: number) => Math.floor(random() * bound);
  const database = new Database(':memory:');
  database.exec(`
    CREATE TABLE events (id INTEGER PRIMARY KEY, observed_at TEXT, source_key INTEGER, event_type TEXT, observer TEXT);
    CREATE INDEX events_by_time ON events (observed_at, id, source_key, event_type, observer);`);
  const insert = database.prepare(
    'INSERT INTO events VALUES (@id, @observed_at, @source_key, @event_type, @observer)',
  );
  const rows: Row[] = [];
  const add = database.transaction((count: number) => {
    for (let index = 0; index < count; index += 1) {
      const id = rows.length + 1;
      const minutes = below(50) === 0 ? below(id) : Math.floor(id / 3);
      const row = {
        id,
        observed_at: new Date(START + minutes * 60_000).toISOString(),
        source_key: 1 + below(SOURCES),
        event_type: EVENT_TYPES[below(EVENT_TYPES.length)] ?? 'changed',
        observer: OBSERVERS[below(OBSERVERS.length)] ?? 'self',
      };
      insert.run(row);
      rows.push(row);
    }
  });
  return { database: database as ReadDatabase, rows, add, below };
}

function byFullScan(rows: readonly Row[], choice: EventCriteria): number[] {
  const { sources, ids, event_type, observer, since, until } = choice;
  return rows
    .filter(
      (row) =>
        (sources === null || sources.includes(row.source_key) || ids.includes(row.id)) &&
        (event_type === null || row.event_type === event_type) &&
        (observer === null || row.observer === observer) &&
        (since === null || row.observed_at >= since) &&
        (until === null || row.observed_at <= until),
    )
    .sort((left, right) => right.observed_at.localeCompare(left.observed_at) || right.id - left.id)
    .map(({ id }) => id);
}

function randomChoice(rows: readonly Row[], below: (bound: number) => number): EventCriteria {
  const one = () => rows[below(rows.length)] as Row;
  const maybe = <Value>(value: Value) => (below(3) === 0 ? value : null);
  const sources = maybe([one().source_key, one().source_key, SOURCES + 5]);
  return {
    sources,
    ids: sources && below(2) === 0 ? [one().id, one().id, rows.length + 9] : [],
    event_type: maybe(one().event_type),
    observer: maybe(below(9) === 0 ? 'nobody' : one().observer),
    since: maybe(one().observed_at),
    until: maybe(one().observed_at),
  };
}

test('lists by columns equal lists by full scans, with events added during and after loading', async () => {
  const { database, rows, add, below } = openEvents(11);
  add(12_000);
  const columns = new EventColumns(database);
  const [loading, shared] = [columns.load(), columns.load()];
  add(500);
  await Promise.all([loading, shared]);
  for (let question = 0; question < 200; question += 1) {
    if (question % 10 === 0) add(below(40));
    if (question === 100) {
      add(11_000);
      await columns.load();
    }
    columns.catchUp();
    const choice = randomChoice(rows, below);
    const page = { limit: 1 + below(100), offset: below(4) * below(3_000) };
    const expected = byFullScan(rows, choice);
    expect({ choice, page, ...columns.list(choice, page) }).toEqual({
      choice,
      page,
      ids: expected.slice(page.offset, page.offset + page.limit),
      total: expected.length,
    });
  }
  database.close();
});

test('closing the database ends the loading of columns without an error', async () => {
  const { database, add } = openEvents(12);
  add(12_000);
  const columns = new EventColumns(database);
  const loading = columns.load();
  database.close();
  await loading;
  expect(() => columns.catchUp()).toThrow('not loaded yet');
});
