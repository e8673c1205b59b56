import { createHash, hash } from 'node:crypto';
import { join } from 'node:path';
import { appendEntry } from '../../server/ledger/appendEntry.ts';
import { fingerprintOf } from '../../server/ledger/entry.ts';
import { createLog } from '../../server/log.ts';
import { openNode } from '../../server/node.ts';
import { statement } from '../../server/store/sqlite/open.ts';
import { openStore } from '../../server/store/store.ts';
import { systemClock } from '../../shared/clock.ts';
import { type Bench, type Measurement, percentile, timed } from './bench.ts';

const ENTRIES = 100_000;
const AT = '2026-11-20T10:14:21.592Z';

/** Verifies a ledger of a million nodes while `/api/health` is asked, against hashing the same bytes in a bare loop. */
export const ledger: Bench = {
  name: 'ledger',
  async run(folder): Promise<Measurement[]> {
    const dataFolder = join(folder, 'data');
    const bytes = await fill(dataFolder);
    const bare = await timed(() => hashBare(bytes));
    const node = await openNode({ dataFolder, port: 0, collect: false, log: createLog('warn') });
    const waits: number[] = [];
    let verified = false;
    const verification = timed(async () => {
      const answer = (await (await fetch(`${node.url}/api/ledger/verify`)).json()) as {
        ok: boolean;
        size: number;
      };
      if (!answer.ok || answer.size !== ENTRIES)
        throw new Error(`The ledger did not verify: ${JSON.stringify(answer)}`);
      verified = true;
    });
    while (!verified) {
      waits.push(await timed(async () => (await fetch(`${node.url}/api/health`)).text()));
      await systemClock.sleep(10);
    }
    const took = await verification;
    await node.close();
    const slowest = percentile(waits, 1);
    return [
      {
        what: `${ENTRIES} entries verified, each with its subject`,
        ours: `${Math.round(took)} ms`,
        peer: `bare loop hashing the same ${Math.round(bytes.reduce((sum, size) => sum + size, 0) / 1e6)} MB: ${Math.round(bare)} ms`,
        ratio: took / bare,
        reach: 'at most 4 times',
        holds: took / bare <= 4,
      },
      {
        what: `/api/health meanwhile, asked ${waits.length} times`,
        ours: `slowest ${slowest.toFixed(1)} ms, median ${percentile(waits, 0.5).toFixed(1)} ms`,
        reach: 'within 50 ms',
        holds: slowest <= 50,
      },
    ];
  },
};

/** Writes nodes with their entries straight into the store, and gives back the sizes of what verification hashes. */
async function fill(folder: string): Promise<number[]> {
  const store = await openStore({ folder, clock: systemClock });
  const sizes: number[] = [];
  for (let first = 1; first <= ENTRIES; first += 20_000) {
    await store.write((database) => {
      for (let number = first; number < first + 20_000; number += 1) {
        const recorded = { path: `n${number}`, title: `Node ${number}`, description: '', created_at: AT };
        const digest = fingerprintOf(recorded);
        const { seq } = appendEntry(database, {
          type: 'node.created',
          subject: recorded.path,
          digest,
          at: AT,
        });
        statement(
          database,
          'INSERT INTO nodes (path, title, description, created_at, ledger_entry) VALUES (?, ?, ?, ?, ?)',
        ).run(recorded.path, recorded.title, '', AT, seq);
        sizes.push(JSON.stringify(recorded).length, 250, 330);
      }
    });
  }
  await store.close();
  return sizes;
}

/** The entry without its hash, the leaf and the subject: three digests an entry, and nothing else. */
function hashBare(sizes: readonly number[]): void {
  const text = 'x'.repeat(1_000);
  for (const size of sizes) hash('sha256', text.slice(0, size), 'hex');
  for (let node = 0; node < sizes.length / 3; node += 1)
    createHash('sha256').update(text.slice(0, 65)).digest();
}
