import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { compressContent } from '../../server/collection/derived/process/tasks.ts';
import { searchObjectTexts } from '../../server/collection/derived/search.ts';
import { listEvents, withReadableSummaries } from '../../server/collection/timeline/events.ts';
import { databaseFile } from '../../server/store/files.ts';
import {
  dequeueText,
  indexText,
  pendingTexts,
  putDerivedDocument,
} from '../../server/store/sqlite/collection/documentSearch.ts';
import { openForWriting } from '../../server/store/sqlite/engine/open.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import {
  requireReadable,
  unreadableAmong,
  VISITOR,
  withholdNow,
} from '../../server/withholding/withholding.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { type Bench, type Measurement, median, scaled, timed } from './bench.ts';
import { digestOf, fillTimeline, instantOf } from './support/filledTimeline.ts';

const EVENTS = scaled(220_000, 200);
const SOURCES = scaled(20_000, 20);
const WITHHELD = scaled(100_000, 50);
const TIMES = scaled(30);
/** What is not withheld: the newest events, which the first pages show. */
const SHOWN = EVENTS - 1_000;
/** More than this would be seen; of long searches, no more than the noise of the machine. */
const MAX_MORE_MS = 1;
const MAX_MORE_SHARE = 0.05;

const SEARCH = { limit: 50, offset: 0 };
const RESOURCES = Array.from({ length: 500 }, (_, number) => digestOf(SHOWN + number));

/** What readers ask for, in the process of the node. */
const READS: [what: string, read: (store: Store) => unknown][] = [
  [
    'who may read one object, asked 100 times',
    (store) => {
      for (let round = 0; round < 100; round += 1)
        requireReadable(store.read, digestOf(SHOWN + round), VISITOR);
    },
  ],
  ['who may read the 500 resources of a page', (store) => unreadableAmong(store.read, RESOURCES, VISITOR)],
  [
    'a page of 100 events with summaries',
    async (store) => {
      const { items } = await listEvents(store, { limit: 100, offset: 0 });
      return withReadableSummaries(store.read, items, VISITOR);
    },
  ],
  ['a search for a rare word', (store) => searchObjectTexts(store, { ...SEARCH, q: 'zircon' }, VISITOR)],
  [
    'a search for a word in every text',
    (store) => searchObjectTexts(store, { ...SEARCH, q: 'levels' }, VISITOR),
  ],
  ['a search without words', (store) => searchObjectTexts(store, { ...SEARCH, q: '' }, VISITOR)],
];

/** Reads as a visitor from two archives that differ only in that 100,000 objects of one are withheld, by turns. */
export const withheld: Bench = {
  name: 'withheld',
  async run(folder): Promise<Measurement[]> {
    const [plain, full] = [join(folder, 'plain'), join(folder, 'full')];
    await fillTimeline(plain, { events: EVENTS, sources: SOURCES });
    indexAll(plain);
    await cp(plain, full, { recursive: true });
    const took = await timed(() => withholdMany(full));
    console.log(`withheld: ${WITHHELD} objects withheld in ${Math.round(took)} ms`);
    const open = (dataFolder: string) => openStore({ folder: dataFolder, clock: systemClock });
    const [without, with_] = [await open(plain), await open(full)];
    try {
      const measured: Measurement[] = [];
      for (const [what, read] of READS) measured.push(await compare(what, read, [without, with_]));
      return measured;
    } finally {
      await without.close();
      await with_.close();
    }
  },
};

/** Indexes a text of each version, with the product's own functions. */
function indexAll(folder: string): void {
  const database = openForWriting(databaseFile(folder));
  for (const setting of ['journal_mode = OFF', 'synchronous = OFF', 'cache_size = -500000'])
    database.pragma(setting);
  database.transaction(() => {
    for (let page = pendingTexts(database, 2_000); page.length > 0; page = pendingTexts(database, 2_000))
      for (const pending of page) {
        const { sha256, key } = pending;
        const rare = key % 10_007 === 0 ? ' zircon' : '';
        const text = `Water levels of station ${key % 997}, measured today${rare}.`;
        putDerivedDocument(database, {
          kind: 'text',
          subject: sha256,
          objects: [sha256],
          tool: 'bench',
          tool_version: '1',
          made_at: instantOf(0),
          outcome: 'made',
          detail: null,
          title: 'Levels',
          content: compressContent({
            kind: 'text',
            title: 'Levels',
            text,
            links: [],
            pages: null,
            truncated: false,
          }),
        });
        for (const _ of indexText(database, pending, { title: 'Levels', text }));
        dequeueText(database, pending);
      }
  })();
  database.close();
}

function withholdMany(folder: string): void {
  const database = openForWriting(databaseFile(folder));
  database.transaction(() => {
    let done = 0;
    for (let number = 0; done < WITHHELD && number < SHOWN; number += 1) {
      const sha256 = digestOf(number);
      if (number >= SOURCES && number % 2 === 0) continue;
      try {
        withholdNow(database, { sha256, reason: 'personal_data' }, instantOf(EVENTS));
        done += 1;
      } catch {
        // An event without an object.
      }
    }
    console.log(`withheld: ${done} of them have an object`);
  })();
  database.close();
}

async function compare(
  what: string,
  read: (store: Store) => unknown,
  stores: readonly [Store, Store],
): Promise<Measurement> {
  const durations = stores.map((): number[] => []);
  for (let round = 0; round <= TIMES; round += 1)
    for (const [index, store] of stores.entries()) {
      const ms = await timed(() => read(store));
      // The first round reads from the disk.
      if (round > 0) durations[index]?.push(ms);
    }
  const [without = Number.NaN, with_ = Number.NaN] = durations.map(median);
  return {
    what,
    ours: `${with_.toFixed(2)} ms with ${WITHHELD} withheld objects`,
    peer: `${without.toFixed(2)} ms with none`,
    ratio: with_ / without,
    target: `at most ${MAX_MORE_MS} ms or ${MAX_MORE_SHARE * 100} % more`,
    holds: with_ <= without + Math.max(MAX_MORE_MS, without * MAX_MORE_SHARE),
  };
}
