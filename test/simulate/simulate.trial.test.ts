import { afterAll, expect, inject, test } from 'vitest';
import { closeTimestampAuthorities } from '../support/network/timestampAuthority.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { newSeeds } from '../support/seededRandom.ts';
import { sharedObjectStore } from '../support/trials.ts';
import { KEPT } from './kept.ts';
import { run, type Surroundings, surround } from './run.ts';
import { BUCKET } from './world.ts';

const SEEDS = 8;
const STEPS = 60;

let surroundings: Promise<Surroundings> | undefined;
const around = () =>
  (surroundings ??= (async () => {
    const store = sharedObjectStore();
    await store?.createBucket(BUCKET);
    await store?.close();
    return surround(await temporaryFolder(), inject('objectStore'));
  })());
afterAll(async () => {
  await closeTimestampAuthorities();
  await closeTestNodes();
});

const seeds = newSeeds(SEEDS);

test.each(seeds)(`seed %i: what was acknowledged holds after ${STEPS} steps`, async (seed) => {
  // A browser takes seconds for each page, so only one of the runs has one.
  const { fault, log, steps } = await run(seed, STEPS, {
    ...(await around()),
    hasBrowser: seed === seeds[0],
  });
  const told = `npm run simulate -- --seed ${seed} --steps ${STEPS} --shrink\n${log.join('\n')}\n${steps.at(-1)?.kind}`;
  expect(fault, told).toBeUndefined();
});

test.each(KEPT)('$name', async ({ seed, steps }) => {
  const { fault, log } = await run(seed, steps, await around());
  expect(fault, log.join('\n')).toBeUndefined();
});
