import { addFindingNow, listFindings } from '../../server/findings/findings.ts';
import { statement } from '../../server/store/sqlite/engine/open.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { VISITOR } from '../../server/withholding/withholding.ts';
import { type FindingsFilter, newFindingSchema, type PlacedFinding } from '../../shared/findings/finding.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { type Bench, type Measurement, median, scaled, timed } from './bench.ts';
import { fillTimeline } from './support/filledTimeline.ts';

const FINDINGS = scaled(10_000, 110);
const EVENTS = scaled(20_000, 20);
const LIMIT = 100;
const TIMES = scaled(30);
const MOST_MS = 20;

const LISTS: [what: string, filter: Partial<FindingsFilter>][] = [
  ['the first 100 of 10,000 findings', {}],
  ['those with a tag', { tag: 'tag 7' }],
  ['a search for a word in every finding', { q: 'level' }],
  ['a search for a rare word', { q: 'quotation9999' }],
];

/** A visitor lists findings, each with a quotation whose bytes the visitor may read. */
export const findings: Bench = {
  name: 'findings',
  async run(folder): Promise<Measurement[]> {
    await fillTimeline(folder, { events: EVENTS, sources: 1_000 });
    const store = await openStore({ folder, clock: systemClock });
    try {
      const sql = 'SELECT id, sha256 FROM events WHERE sha256 IS NOT NULL ORDER BY id LIMIT ?';
      const events = statement<Quoted>(store.read, sql).all(FINDINGS);
      await store.write((database) => {
        for (const [number, event] of events.entries())
          addFindingNow(database, store, newFindingSchema.parse(findingOf(number, event)) as PlacedFinding);
      });
      const rows = median(await repeated(() => readRows(store)));
      const measured: Measurement[] = [];
      for (const [what, filter] of LISTS) {
        const query = { limit: LIMIT, offset: 0, state: 'current' as const, ...filter };
        const ms = median(await repeated(() => listFindings(store, query, VISITOR)));
        measured.push({
          what,
          ours: `${ms.toFixed(2)} ms`,
          peer: `100 rows of the table ${rows.toFixed(2)} ms`,
          ratio: ms / rows,
          target: `${MOST_MS} ms`,
          holds: ms <= MOST_MS,
        });
      }
      return measured;
    } finally {
      await store.close();
    }
  },
};

interface Quoted {
  id: number;
  sha256: string;
}

function findingOf(number: number, { id, sha256 }: Quoted): object {
  return {
    target: { kind: 'event', id: String(id) },
    text: `The level was corrected, case ${number}`,
    tags: [`tag ${number % 50}`],
    passage: { sha256, exact: `quotation${number} of the level`, prefix: 'before ' },
  };
}

function readRows({ read }: Store): unknown[] {
  return statement(read, 'SELECT * FROM findings ORDER BY ledger_entry DESC LIMIT ?').all(LIMIT);
}

async function repeated(work: () => unknown): Promise<number[]> {
  const took: number[] = [];
  for (let round = 0; round < TIMES; round += 1) took.push(await timed(work));
  return took;
}
