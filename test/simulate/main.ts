import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import buildWorkers from '../support/buildWorkers.ts';
import { installObjectStore, type ObjectStore, openObjectStore } from '../support/network/objectStore.ts';
import { closeTimestampAuthorities } from '../support/network/timestampAuthority.ts';
import { closeTestNodes } from '../support/node.ts';
import { type PlannedStep, type RunResult, run, type Surroundings, surround } from './run.ts';
import { shrink } from './shrink.ts';
import { BUCKET } from './world.ts';

const HELP = `Usage: npm run simulate -- [options]

Does random steps with an archive, its copies and a peer, and compares everything with a model of what was acknowledged.

  --seed N    the first seed (default: 1)
  --seeds N   how many seeds are run, one after another (default: 1)
  --steps N   the steps of each run (default: 60)
  --replay S  does these steps instead, as a failing run prints them
  --shrink    looks for a shorter list of steps that fails in the same way
  --browser   also captures pages as a browser draws them, which takes seconds each
  --bucket    also keeps copies in a bucket of an object store, which is installed if it is not there
  --list      prints what each step did
  --help      prints this

Exit code: 0 if everything held, 1 if not.`;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    steps: { type: 'string', default: '60' },
    replay: { type: 'string' },
    shrink: { type: 'boolean', default: false },
    browser: { type: 'boolean', default: false },
    bucket: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

/** What a fault says, without the ids and the numbers that differ from run to run. */
const kindOf = (fault: Error) =>
  fault.message
    .slice(0, 400)
    .replace(/[0-9a-f]{20,}|[a-z]{8}zqxmk|\d+/g, '#')
    .slice(0, 60);

if (values.help) console.log(HELP);
else process.exitCode = await simulate();

async function simulate(): Promise<number> {
  const remove = await buildWorkers();
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-simulate-'));
  const store = values.bucket ? await openStore() : undefined;
  const surroundings = { ...(await surround(folder, store)), hasBrowser: values.browser };
  const failed: number[] = [];
  try {
    const first = Number(values.seed);
    for (let seed = first; seed < first + Number(values.seeds); seed += 1) {
      const started = performance.now();
      const steps = values.replay ? (JSON.parse(values.replay) as PlannedStep[]) : Number(values.steps);
      const result = await run(seed, steps, surroundings);
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      const { requests, assertions } = surroundings.figures;
      console.log(
        `seed ${seed}: ${result.fault ? 'FAILED' : 'held'}, ${result.steps.length} steps, ${seconds} s; so far ${requests} requests, ${assertions} assertions`,
      );
      if (values.list || result.fault)
        console.log(result.log.map((line, at) => `  ${at + 1}. ${line}`).join('\n'));
      if (!result.fault) continue;
      failed.push(seed);
      report(result);
      if (values.shrink) await reportShortest(result, surroundings);
    }
  } finally {
    await remove();
    await closeTimestampAuthorities();
    await closeTestNodes();
    await store?.close();
    await rm(folder, { recursive: true });
  }
  const { steps, requests, kills, diskFaults, assertions } = surroundings.figures;
  console.log(
    `${steps} steps, ${requests} requests, ${kills} kills, ${diskFaults} failing disks, ${assertions} assertions`,
  );
  if (failed.length > 0) console.log(`Failed: ${failed.join(' ')}`);
  return failed.length > 0 ? 1 : 0;
}

async function openStore(): Promise<ObjectStore> {
  if (!installObjectStore()) throw new Error('This machine has no object store.');
  const store = await openObjectStore();
  await store.createBucket(BUCKET);
  return store;
}

function report({ seed, fault, steps, messages }: RunResult): void {
  console.log(`\nIn step ${steps.length} (${steps.at(-1)?.kind}): ${fault?.stack ?? ''}`);
  if (messages.length > 0) console.log(`The log:\n${messages.slice(-5).join('\n').slice(0, 3_000)}`);
  console.log(`npm run simulate -- --seed ${seed} --replay '${JSON.stringify(steps)}'\n`);
}

async function reportShortest({ seed, steps, fault }: RunResult, surroundings: Surroundings): Promise<void> {
  if (!fault) return;
  const fails = async (candidate: readonly PlannedStep[]) => {
    const { fault: other } = await run(seed, candidate, surroundings);
    return other !== undefined && kindOf(other) === kindOf(fault);
  };
  const shortest = await shrink(steps, fails);
  const result = await run(seed, shortest, surroundings);
  console.log(`The shortest list that fails in this way has ${shortest.length} steps:`);
  console.log(result.log.map((line, at) => `  ${at + 1}. ${line}`).join('\n'));
  report(result);
}
