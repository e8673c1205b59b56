import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { type Bench, type Measurement, median, scaled } from './bench.ts';
import { memoryOf, startNode } from './support/ownerNode.ts';
import { sendPack } from './support/sentPack.ts';

const PACKS = scaled(2_000, 20);
const AT_ONCE = 16;
const STARTS = scaled(7);
const REST_MS = scaled(10_000, 100);
/** Long enough to index the texts of all packs, which a start after that need not do again. */
const INDEX_MS = scaled(20_000, 100);
const TARGET_START_MS = 450;
const TARGET_BYTES = 160e6;

/** Starts a node as users do, through npm: the time until it listens, and its memory at rest. */
export const start: Bench = {
  name: 'start',
  async run(folder): Promise<Measurement[]> {
    const data = join(folder, 'data');
    await fill(data);
    await startOnce(data, INDEX_MS);
    const times: number[] = [];
    for (let started = 0; started < STARTS; started += 1) times.push((await startOnce(data, 0)).ms);
    const { resident } = await startOnce(data, REST_MS);
    return [
      {
        what: `from npm run to listening, with ${PACKS} packs`,
        ours: `${Math.round(median(times))} ms`,
        target: `at most ${TARGET_START_MS} ms`,
        holds: median(times) <= TARGET_START_MS,
      },
      {
        what: `memory ${REST_MS / 1000} s after the start, with all texts indexed before`,
        ours: `${Math.round(resident / 1e6)} MB`,
        target: `at most ${TARGET_BYTES / 1e6} MB`,
        holds: resident <= TARGET_BYTES,
      },
    ];
  },
};

async function fill(data: string): Promise<void> {
  const node = await startNode(data);
  for (let sent = 0; sent < PACKS; sent += AT_ONCE) {
    const batch = Array.from({ length: AT_ONCE }, (_, index) => `Pack ${sent + index}`);
    await Promise.all(batch.map((title) => sendPack(node, { title, content: Buffer.from(title) })));
  }
  await node.stop();
}

/** Starts a node, waits at rest, reads its resident memory and stops it. */
async function startOnce(data: string, restMs: number): Promise<{ ms: number; resident: number }> {
  const args = ['run', '-s', 'strongroom', '--', 'serve', '--json', '--port', '0', '--no-collect'];
  const began = performance.now();
  const child = spawn('npm', [...args, '--data', data], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const ms = performance.now() - began;
  const { pid } = JSON.parse(line) as { pid: number };
  const exited = once(child, 'exit');
  await wait(restMs);
  const resident = await memoryOf(pid, 'VmRSS');
  process.kill(pid, 'SIGTERM');
  await exited;
  return { ms, resident };
}
