import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { sourceIdOf } from '../../server/collection/sources/sources.ts';
import { listEvents, loadTimeline, readEventDensity } from '../../server/collection/timeline/events.ts';
import { readSeen } from '../../server/collection/timeline/seen.ts';
import { readStats, readStatus } from '../../server/collection/timeline/status.ts';
import { readHead } from '../../server/ledger/appendEntry.ts';
import { statement } from '../../server/store/sqlite/engine/open.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { EVENT_TYPES, eventsQuery } from '../../shared/collection/event.ts';
import { DEFAULT_SETTINGS } from '../../shared/node/settings.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { type Bench, type Measurement, percentile, timed } from './bench.ts';
import {
  ARCHIVE,
  digestOf,
  EVENTS,
  fillTimeline,
  instantOf,
  RARE_ARCHIVE,
  SOURCES,
  urlOf,
} from './support/filledTimeline.ts';

const MAX_BLOCKED_MS = 50;
const SAMPLE_INTERVAL_MS = 5;
const DIGEST = digestOf(777_777);
const ONE_SOURCE = sourceIdOf(urlOf(7));

/** Queries of the timeline, each with the target for the median duration in milliseconds. */
const QUERIES: [what: string, query: object, target: number][] = [
  ['the first page', {}, 3],
  ['offset 900000', { offset: '900000' }, 10],
  ['a rare word', { q: 'zircon' }, 5],
  ['a word in half of the sources', { q: 'even' }, 50],
  ['a word in half of them, offset 400000', { q: 'even', offset: '400000' }, 50],
  [
    'one letter, which every source has, since the second month, offset 900000',
    { q: 'r', since: '2024-02-01', offset: '900000' },
    50,
  ],
  [
    'three words of every source, in a year',
    { q: 'https www report', since: '2025-01-01', until: '2025-11-30' },
    50,
  ],
  ['a word in one of a hundred', { q: 'hundredth' }, 20],
  ['a word that is nowhere', { q: 'nowhere' }, 5],
  ['the beginning of a digest', { q: DIGEST.slice(0, 12) }, 5],
  ['four hex digits', { q: DIGEST.slice(0, 4) }, 10],
  ['a word in half of them and four hex digits', { q: `even ${DIGEST.slice(0, 4)}` }, 50],
  ['a frequent type, offset 900000', { event_type: 'changed', offset: '900000' }, 20],
  ['a rare type', { event_type: 'disappeared' }, 5],
  ['one source', { source: ONE_SOURCE }, 5],
  [
    'one source and a rare type in a year',
    { source: ONE_SOURCE, event_type: 'unavailable', since: '2025-01-01' },
    5,
  ],
  ['an agency', { agency: 'Agency 3' }, 20],
  ['an agency and a type', { agency: 'Agency 3', event_type: 'changed' }, 20],
  ['a tag', { tag: 'tag7' }, 20],
  ['a tag of every source, offset 900000', { tag: 'all', offset: '900000' }, 50],
  ['a rare observer', { observer: RARE_ARCHIVE }, 5],
  [
    'an observer, since the second month, offset 40000',
    { observer: ARCHIVE, since: '2024-02-01', offset: '40000' },
    20,
  ],
  ['all but noise', { noise: 'false' }, 20],
  ['all but noise, offset 900000', { noise: 'false', offset: '900000' }, 20],
  ['only noise, of an agency', { noise: 'true', agency: 'Agency 10' }, 20],
  ['a word in half of the sources, without noise', { q: 'even', noise: 'false' }, 50],
  ['an observer that there is none of', { observer: 'Nobody' }, 5],
  ['one day', { since: '2025-01-01', until: '2025-01-01' }, 10],
  ['a year, offset 400000', { since: '2025-01-01', until: '2025-11-30', offset: '400000' }, 10],
  ['a word and a month', { q: 'hundredth', since: '2025-03-01', until: '2025-03-31' }, 20],
  [
    'everything at once',
    {
      q: 'even',
      event_type: 'changed',
      agency: 'Agency 4',
      tag: 'all',
      observer: 'self',
      since: '2024-03-01',
      until: '2025-09-30',
      offset: '5000',
    },
    20,
  ],
];

/** Reads the timeline of a million events, each query 30 times, in the process of the node. */
export const timeline: Bench = {
  name: 'timeline',
  async run(folder): Promise<Measurement[]> {
    await fillTimeline(join(folder, 'data'));
    const store = await openStore({ folder: join(folder, 'data'), clock: systemClock });
    const measured = [await firstTime(store)];
    for (const [what, asked, target] of QUERIES) {
      const query = eventsQuery.parse(asked);
      const { total } = await listEvents(store, query);
      measured.push(await measure(`${what} (${total} events)`, target, () => listEvents(store, query)));
    }
    await requireConsistentCounts(store);
    measured.push(
      await measure('how many over time, in 200 buckets', 20, () =>
        readEventDensity(store, { buckets: 200 }),
      ),
    );
    measured.push(
      await measure('the same without noise', 50, () =>
        readEventDensity(store, { buckets: 200, noise: false }),
      ),
    );
    measured.push(await measure('how many are unseen', 50, () => readSeen(store)));
    measured.push(await measure('/api/stats', 1, () => readStats(store)));
    measured.push(await measure('/api/status', 10, () => readStatus(store, DEFAULT_SETTINGS)));
    await store.close();
    return measured;
  },
};

/** Measures the index of the timeline, which is loaded once after a start, without blocking the event loop. */
async function firstTime(store: Store): Promise<Measurement> {
  const held = monitorEventLoopDelay({ resolution: SAMPLE_INTERVAL_MS });
  held.enable();
  const ms = await timed(() => loadTimeline(store));
  held.disable();
  const most = Math.max(0, held.max / 1e6 - SAMPLE_INTERVAL_MS);
  return {
    what: 'index of the timeline, loaded once after a start',
    ours: `${(ms / 1000).toFixed(2)} s, event loop blocked for at most ${most.toFixed(0)} ms`,
    target: `within 5 s, event loop blocked for at most ${MAX_BLOCKED_MS} ms`,
    holds: ms <= 5_000 && most <= MAX_BLOCKED_MS,
  };
}

/** Requires that the counts of the archive agree with each other. */
async function requireConsistentCounts(store: Store): Promise<void> {
  const { total } = await listEvents(store, eventsQuery.parse({}));
  const density = await readEventDensity(store, { buckets: 200 });
  const stats = readStats(store);
  let byType = 0;
  for (const event_type of EVENT_TYPES) {
    const listed = (await listEvents(store, eventsQuery.parse({ event_type }))).total;
    const counted = statement<{ count: number }>(
      store.read,
      'SELECT sum(count) AS count FROM event_counts WHERE source_key = 0 AND event_type = ?',
    ).get(event_type)?.count;
    if (listed !== counted)
      throw new Error(`${listed} events are ${event_type}, and ${counted} were counted.`);
    byType += listed;
  }
  const deep = await listEvents(store, eventsQuery.parse({ offset: String(EVENTS * 0.9), limit: '1' }));
  const isTrue =
    [total, density.total, stats.events, byType].every((count) => count === EVENTS) &&
    stats.sources === SOURCES &&
    readHead(store.read).seq === EVENTS + SOURCES &&
    deep.items[0]?.observed_at === instantOf(EVENTS * 0.1 - 1);
  if (!isTrue) throw new Error(`This is no truthful archive: ${JSON.stringify({ total, byType, stats })}`);
}

async function measure(what: string, target: number, ask: () => unknown): Promise<Measurement> {
  const waits: number[] = [];
  for (let time = 0; time < 30; time += 1) waits.push(await timed(ask));
  const half = percentile(waits, 0.5);
  return {
    what,
    ours: `p50 ${half.toFixed(2)} ms, p95 ${percentile(waits, 0.95).toFixed(2)} ms`,
    target: `p50 within ${target} ms`,
    holds: half <= target,
  };
}
