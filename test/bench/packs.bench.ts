import { join } from 'node:path';
import { checkRecord } from '../../server/archive/packs/checkRecord.ts';
import { insertPackRows } from '../../server/archive/packs/packRows.ts';
import { listPacks } from '../../server/archive/packs/readPack.ts';
import { createTreeNode, readTreeNode } from '../../server/archive/studies.ts';
import { appendEntry } from '../../server/ledger/appendEntry.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { packsQuery } from '../../shared/archive/pack.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { type Bench, type Measurement, percentile, scaled } from './bench.ts';

const PACKS = scaled(100_000, 1000);
const BATCH = 1_000;
const TIMES = scaled(20);
/** The targets for a page without and with a search, in milliseconds. */
const PAGE_MS = 20;
const SEARCH_MS = 60;

const PATHS = ['ocean', 'ocean/north', 'ocean/south', 'land'] as const;
const OUTCOMES = ['positive', 'negative', 'null', 'mixed'] as const;

const EVERYWHERE = 'what was measured of the sea level pack author keyword n pk a k l m o p s t w';

/** Queries of the list, each with the target for the median duration in milliseconds, including the response body. */
const QUERIES: [what: string, query: Record<string, string>, target: number][] = [
  ['the first page', {}, PAGE_MS],
  ['offset 90000', { offset: '90000' }, PAGE_MS],
  ['by title', { sort: 'title' }, PAGE_MS],
  ['by replications', { sort: '-replications' }, PAGE_MS],
  ['one outcome', { outcome: 'positive' }, PAGE_MS],
  [
    'a subtree, one outcome and licence',
    { node: 'ocean', outcome: 'positive', license: 'CC0-1.0' },
    SEARCH_MS,
  ],
  ['one author', { author: 'author 17' }, PAGE_MS],
  ['a word in every pack', { q: 'measured' }, SEARCH_MS],
  ['one letter', { q: 'm' }, SEARCH_MS],
  ['two letters', { q: 'wh' }, SEARCH_MS],
  ['two letters that begin hundreds of words', { q: 'w1' }, SEARCH_MS],
  ['twenty letters, ten of them in every pack', { q: 'a k l m n o p s t w 0 1 2 3 4 5 6 7 8 9' }, SEARCH_MS],
  ['twenty words that are all in every pack', { q: EVERYWHERE }, SEARCH_MS],
  ['four words', { q: 'sea level w1 w2' }, SEARCH_MS],
  ['a phrase in every pack', { q: '"the sea level"' }, SEARCH_MS],
  ['a rare word', { q: 'zircon' }, SEARCH_MS],
  ['the beginning of a digest', { q: 'pk_a1' }, SEARCH_MS],
  ['a word in every pack, by title', { q: 'measured', sort: 'title' }, SEARCH_MS],
  [
    'a word and three filters',
    { q: 'measured', node: 'ocean', flagged: 'false', tag: 'replicable' },
    SEARCH_MS,
  ],
];

/** Lists 100,000 packs, each query 20 times, in the process of the node. */
export const packs: Bench = {
  name: 'packs',
  async run(folder): Promise<Measurement[]> {
    const store = await openStore({ folder: join(folder, 'data'), clock: systemClock });
    await fillPacks(store, PACKS);
    const measured = QUERIES.map(([what, asked, target]) => {
      const query = packsQuery.parse(asked);
      const { total } = listPacks(store, query);
      return measure(`${what} (${total} packs)`, target, () => [...listPacks(store, query).texts]);
    });
    measured.push(measure('a node’s page', PAGE_MS, () => [...readTreeNode(store, 'ocean').packs]));
    await store.close();
    return measured;
  },
};

function measure(what: string, target: number, ask: () => unknown): Measurement {
  const waits: number[] = [];
  for (let time = 0; time < TIMES; time += 1) {
    const started = performance.now();
    ask();
    waits.push(performance.now() - started);
  }
  const half = percentile(waits, 0.5);
  return {
    what,
    ours: `p50 ${half.toFixed(2)} ms, p95 ${percentile(waits, 0.95).toFixed(2)} ms`,
    target: `p50 within ${target} ms`,
    holds: half <= target,
  };
}

/** Adds this many packs to an archive; a multiple of 1,000. */
export async function fillPacks(store: Store, count: number): Promise<void> {
  for (const path of PATHS) await createTreeNode(store, { path, title: path, description: '' });
  for (let first = 0; first < count; first += BATCH) {
    await store.write((database) => {
      for (let number = first; number < first + BATCH; number += 1) {
        const checked = checkRecord(recordOf(number));
        const at = store.instant();
        const { seq } = appendEntry(database, {
          type: 'pack.added',
          subject: checked.id,
          digest: checked.digest,
          at,
        });
        insertPackRows(database, checked, seq, at);
      }
    });
  }
}

function recordOf(number: number): object {
  const words = Array.from(
    { length: 60 },
    (_, index) => `w${Math.imul(number + 1, index * 7919 + 31) % 3_000}`,
  );
  return {
    pack_format: 1,
    terms_version: '2026-10-01',
    title: `${words[0]} ${words[1]} of pack ${number}${number === 77_777 ? ' zircon' : ''}`,
    summary: `What was measured of the sea level: ${words.slice(0, 30).join(' ')}`,
    authors: [{ name: `Author ${number % 500}` }],
    license: number % 3 === 0 ? 'CC-BY-4.0' : 'CC0-1.0',
    outcome: OUTCOMES[number % 4],
    method: number % 2 === 0 ? { text: words.slice(30).join(' '), complete: true } : null,
    results: { n: number, level: number / 7 },
    keywords: [`keyword ${number % 50}`],
    node: PATHS[number % PATHS.length],
  };
}
