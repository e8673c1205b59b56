import { hash } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '../../shared/values/clock.ts';
import { type Bench, type Measurement, median, percentile, scaled, timed } from './bench.ts';
import { fillLedger } from './support/filledLedger.ts';
import { startNode } from './support/ownerNode.ts';

const ENTRIES = scaled(1_000_000, 1000);
const REPETITIONS = scaled(3);

/** Verifies a ledger of a million entries while `/api/health` is requested. The peer hashes the same bytes in a loop. */
export const ledger: Bench = {
  name: 'ledger',
  async run(folder): Promise<Measurement[]> {
    const dataFolder = join(folder, 'data');
    const sizes = await fillLedger(dataFolder, ENTRIES);
    const bare: number[] = [];
    const verified: number[] = [];
    const waits: number[] = [];
    const node = await startNode(dataFolder);
    for (let repetition = 0; repetition < REPETITIONS; repetition += 1) {
      bare.push(await timed(() => hashBare(sizes)));
      verified.push(await verify(node.url, waits));
    }
    await node.stop();
    const megabytes = Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1e6);
    const ratio = median(verified) / median(bare);
    const slowest = percentile(waits, 1);
    return [
      {
        what: `${ENTRIES} entries verified, each with its subject`,
        ours: `${Math.round(median(verified))} ms`,
        peer: `bare loop hashing the same ${megabytes} MB in ${sizes.length} pieces: ${Math.round(median(bare))} ms`,
        ratio,
        target: 'at most 4 times',
        holds: ratio <= 4,
      },
      {
        what: `/api/health during the verification, ${waits.length} requests`,
        ours: `slowest ${slowest.toFixed(1)} ms, median ${percentile(waits, 0.5).toFixed(1)} ms`,
        target: 'within 50 ms',
        holds: slowest <= 50,
      },
    ];
  },
};

/** Returns the duration of a verification in milliseconds; adds the duration of each request for `/api/health`. */
async function verify(url: string, waits: number[]): Promise<number> {
  let isOver = false;
  const verification = timed(async () => {
    const answer = (await (await fetch(`${url}/api/ledger/verify`)).json()) as { ok: boolean; size: number };
    if (!answer.ok || answer.size !== ENTRIES)
      throw new Error(`The ledger did not verify: ${JSON.stringify(answer)}`);
  }).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    waits.push(await timed(async () => (await fetch(`${url}/api/health`)).text()));
    await systemClock.sleep(10);
  }
  return verification;
}

/** Computes only the digests that verification needs, over pieces of the same lengths. */
function hashBare(sizes: Uint16Array): void {
  const bytes = Buffer.alloc(2_048, 'x');
  for (const size of sizes) hash('sha256', bytes.subarray(0, size), 'hex');
}
