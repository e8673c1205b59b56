import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listEvents, readEventDensity } from '../../../server/collection/timeline/events.ts';
import { appendEntry } from '../../../server/ledger/appendEntry.ts';
import { insertRetrieval } from '../../../server/store/sqlite/collection/retrievals.ts';
import { insertSource } from '../../../server/store/sqlite/collection/sources.ts';
import { putEventNoise, scopeDigest } from '../../../server/store/sqlite/collection/timeline/eventNoise.ts';
import {
  eventById,
  insertEvent,
  nextEventId,
} from '../../../server/store/sqlite/collection/timeline/events.ts';
import type { WriteDatabase } from '../../../server/store/sqlite/engine/open.ts';
import { createBlobRowIfAbsent } from '../../../server/store/sqlite/node/blobs.ts';
import { openStore, type Store } from '../../../server/store/store.ts';
import { EVENT_TYPES, type Event, eventDensityQuery, eventsQuery } from '../../../shared/collection/event.ts';
import type { NoiseRule } from '../../../shared/collection/noise.ts';
import { ManualClock } from '../../support/manualClock.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { seededRandom } from '../../support/seededRandom.ts';

const START = Date.parse('2026-01-01T00:00:00.000Z');
const WORDS = ['river', 'été', 'Łódź', 'annual', 'beta', 'dead', 'cafe', '2026'];
const AGENCIES = ['North', 'South', ''];
const EVENTS = 3_000;
const SOURCES = 25;

let store: Store;

beforeAll(async () => {
  store = await openStore({ folder: await temporaryFolder(), clock: new ManualClock() });
});
afterAll(async () => {
  await store.close();
  await closeTestNodes();
});

/** Returns a generator of whole numbers below a bound, deterministic for each seed. */
function seeded(seed: number): (below: number) => number {
  const random = seededRandom(seed);
  return (below) => Math.floor(random() * below);
}

type Random = ReturnType<typeof seeded>;

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[random(items.length)] as Item;
}

/** Two sets of rules; a mark counts only under the current one of its source. */
function rule(number: number): NoiseRule {
  return { kind: 'selector', value: `.rule${number}`, note: '' };
}

/** Marks some events by either set of rules, and returns them. */
function markAtRandom(database: WriteDatabase, random: Random, count: number): number[] {
  const found = Array.from({ length: count }, () => ({
    event: 1 + random(EVENTS),
    is_noise: random(3) > 0,
    outside: false,
    rules_digest: scopeDigest({ watch: null, rules: [rule(random(2))] }) ?? '',
  }));
  putEventNoise(database, found);
  return found.map(({ event }) => event);
}

/** Records events of many sources, some with older times than events recorded before them. */
async function fill(random: Random): Promise<void> {
  await store.write((database) => {
    const digests = Array.from({ length: 40 }, () => hex(random, 64));
    for (const sha256 of digests)
      createBlobRowIfAbsent(database, { sha256, bytes: 1, stored_at: instant(0) });
    const keys = Array.from({ length: SOURCES }, (_, number) => addSource(database, random, number));
    for (let number = 0; number < EVENTS; number += 1)
      addEvent(database, random, pick(random, keys), number, digests);
    markAtRandom(database, random, EVENTS);
  });
}

function hex(random: Random, digits: number): string {
  return Array.from({ length: digits }, () => random(16).toString(16)).join('');
}

function instant(minutes: number): string {
  return new Date(START + minutes * 60_000).toISOString();
}

function addSource(database: WriteDatabase, random: Random, number: number): number {
  return insertSource(database, {
    id: `so_${number.toString(16).padStart(20, '0')}`,
    url: `https://site${number % 4}.example/${pick(random, ['a', 'caf%C3%A9', 'dead'])}/${number}`,
    name: `${pick(random, WORDS)} ${pick(random, WORDS)}`,
    agency: pick(random, AGENCIES),
    tags: [pick(random, WORDS), 'all'],
    every_minutes: null,
    max_object_mb: null,
    ignore_robots: false,
    headers: {},
    noise_rules: number % 3 === 0 ? [rule(number % 2)] : [],
    watch: null,
    every: null,
    time_zone: null,
    active_hours: null,
    follow: null,
    found_in: null,
    capture: 'object',
    picture_events: null,
    keep_days: null,
    needs_login: false,
    profile: null,
    paused: false,
    allow_private: null,
    added_at: instant(0),
    revision: 1,
    next_check_at: instant(0),
  });
}

function addEvent(
  database: WriteDatabase,
  random: Random,
  source_key: number,
  number: number,
  digests: string[],
): void {
  // Mostly in order, some at the same instant, some far back.
  const minutes = random(10) === 0 ? random(number + 1) : Math.floor(number / 3);
  const observed_at = instant(minutes);
  const retrieval = insertRetrieval(database, {
    source_key,
    round: null,
    url: '',
    final_url: '',
    redirects: [],
    observer: 'self',
    observed_at,
    original_observed_at: null,
    status: 200,
    error: null,
    content_type: null,
    headers: [],
    sha256: null,
    bytes: null,
    duration_ms: 1,
    page_label: null,
  });
  const id = nextEventId(database);
  const entry = appendEntry(database, {
    type: 'event.recorded',
    subject: String(id),
    digest: '0'.repeat(64),
    at: observed_at,
  });
  insertEvent(database, {
    id,
    source_key,
    retrieval,
    event_type: pick(random, EVENT_TYPES),
    observer: pick(random, ['self', 'self', 'self', 'webarchive']),
    observed_at,
    original_observed_at: null,
    sha256: random(4) === 0 ? null : pick(random, digests),
    previous_sha256: random(2) === 0 ? null : pick(random, digests),
    reverts_to: null,
    page_label: null,
    ledger_entry: entry.seq,
  });
}

const words = new Map<string, string[]>();

/** Returns the words of a source as the search sees them: lowercase and without accents. */
function wordsOf({ source }: Event): string[] {
  const known = words.get(source.id);
  if (known) return known;
  const text = [source.url, decodeURIComponent(source.url), source.name, source.agency, ...source.tags].join(
    ' ',
  );
  const found = plain(text).split(/[^\p{L}\p{N}]+/u);
  words.set(source.id, found);
  return found;
}

function plain(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').replaceAll('Ł', 'ł').toLowerCase();
}

/** Returns a function that says whether an event matches a query. */
function matcherOf(query: ReturnType<typeof eventsQuery.parse>): (event: Event) => boolean {
  const { q, event_type, source, agency, tag, observer, noise } = query;
  const since = query.since && new Date(query.since).toISOString();
  const until = query.until?.length === 10 ? `${query.until}T23:59:59.999Z` : query.until;
  const asked = (q ?? '').split(' ').filter(Boolean);
  const words = asked.map((word) => ({
    word: plain(word),
    digest: /^[0-9a-f]{4,64}$/i.test(word) ? word.toLowerCase() : undefined,
  }));
  const hasWord = (event: Event, { word, digest }: (typeof words)[number]) =>
    wordsOf(event).some((known) => known.startsWith(word)) ||
    (digest !== undefined && [event.sha256, event.previous_sha256].some((of) => of?.startsWith(digest)));
  return (event) =>
    words.every((word) => hasWord(event, word)) &&
    (event_type === undefined || event.event_type === event_type) &&
    (source === undefined || event.source.id === source) &&
    (agency === undefined || event.source.agency === agency) &&
    (tag === undefined || event.source.tags.includes(tag)) &&
    (observer === undefined || event.observer === observer) &&
    (noise === undefined || (event.is_noise === true) === noise) &&
    (since === undefined || event.observed_at >= since) &&
    (until === undefined || event.observed_at <= until);
}

describe('the timeline', () => {
  test('every page of every query equals a filter over all events', async () => {
    const random = seeded(20261120);
    await fill(random);
    const all = Array.from({ length: EVENTS }, (_, index) => eventById(store.read, index + 1) as Event).sort(
      (left, right) => right.observed_at.localeCompare(left.observed_at) || right.id - left.id,
    );
    const readAgain = (ids: Set<number>) => {
      for (const [index, { id }] of all.entries())
        if (ids.has(id)) all[index] = eventById(store.read, id) as Event;
    };
    for (let question = 0; question < 300; question += 1) {
      if (question % 60 === 59) {
        readAgain(new Set(await store.write((database) => markAtRandom(database, random, 100))));
      }
      const asked = randomQuery(random, all);
      const query = eventsQuery.parse(asked);
      const expected = all.filter(matcherOf(query));
      const { items, total } = await listEvents(store, query);
      const result = { asked, total, ids: items.map(({ id }) => id) };
      const page = expected.slice(query.offset, query.offset + query.limit).map(({ id }) => id);
      expect(result).toEqual({ asked, total: expected.length, ids: page });
    }
    for (let question = 0; question < 100; question += 1) {
      const { since, until, noise } = randomQuery(random, all);
      const buckets = String(1 + random(200));
      const { total, ...density } = await readEventDensity(
        store,
        eventDensityQuery.parse({ since, until, buckets, noise }),
      );
      const query = eventsQuery.parse({ since, until, noise });
      const asked = { since, until, buckets, noise };
      const byNoise = eventsQuery.parse({ noise });
      const counted = all.filter(matcherOf(byNoise));
      expect({ asked, total }).toEqual({ asked, total: all.filter(matcherOf(query)).length });
      expect({ asked, counts: density.counts }).toEqual({
        asked,
        counts: countedOneByOne(counted, density, Number(buckets)),
      });
    }
  });
});

/** Counts the events in each bucket by iterating over all events. */
function countedOneByOne(
  all: readonly Event[],
  { since, until }: { since: string | null; until: string | null },
  buckets: number,
): number[] {
  const start = Date.parse(since ?? '');
  const end = Date.parse(until ?? '') + 1;
  const edge = (index: number) =>
    index === buckets ? end : Math.round(start + (index * Math.max(0, end - start)) / buckets);
  const edges = Array.from({ length: buckets + 1 }, (_, index) => edge(index));
  const counts = Array<number>(buckets).fill(0);
  for (const event of all) {
    const at = Date.parse(event.observed_at);
    const index = edges.findLastIndex((begin) => begin <= at);
    if (index >= 0 && index < buckets) counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}

function randomQuery(random: Random, all: readonly Event[]): Record<string, string> {
  const event = pick(random, all);
  const query: Record<string, string> = {
    limit: String(1 + random(60)),
    offset: String(random(4) * random(800)),
  };
  const asked = [
    'riv',
    'ete',
    'LODZ',
    'ann',
    'beta',
    'dead',
    'cafe',
    'site1',
    '2026',
    'nothing',
    event.sha256?.slice(0, 4 + random(20)) ?? 'all',
  ];
  const chances: [string, () => string][] = [
    ['q', () => pick(random, asked)],
    ['q', () => `${pick(random, asked)} ${pick(random, asked)}`],
    ['event_type', () => pick(random, EVENT_TYPES)],
    ['source', () => event.source.id],
    ['agency', () => pick(random, AGENCIES)],
    ['tag', () => pick(random, ['all', ...event.source.tags])],
    ['observer', () => pick(random, ['self', 'webarchive', 'nobody'])],
    ['noise', () => pick(random, ['true', 'false'])],
    ['since', () => pick(random, [event.observed_at, event.observed_at.slice(0, 10)])],
    ['until', () => pick(random, [event.observed_at, event.observed_at.slice(0, 10)])],
  ];
  for (const [name, value] of chances) if (random(4) === 0) query[name] = value();
  return query;
}
