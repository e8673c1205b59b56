import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { restoreCopy } from '../../server/copies/restore.ts';
import { openTarget } from '../../server/copies/targets/openTarget.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { ERRORS, type Fault, SILENT } from '../support/copies/flakyTarget.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { attempt, emptied, FlakyWorld, type Outcome, placeOf, requireSentence } from './flakyWorld.ts';

/** The bodies that are tried at several bytes, and those bytes as parts of the body. */
const BODIES = 10;

let world: FlakyWorld;
let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  const place = (name: string) => ({ target: pathToFileURL(join(folder, name)).href });
  world = new FlakyWorld(join(folder, 'data'), place('flaky'), place('steady'));
  await world.open();
});
afterEach(closeTestNodes);

interface Operation {
  /** Brings the archive and its copies into the state in which it begins. */
  prepare?: () => Promise<unknown>;
  run: () => Promise<Outcome>;
  /** What must hold after a fault, beside what holds after every one. */
  after?: (outcome: Outcome, when: string) => Promise<unknown>;
  /** Brings back what a fault may leave, as an owner would. */
  again?: (when: string) => Promise<unknown>;
  /** Whether bodies that the place altered without a word are found by a check, not by this. */
  writes?: boolean;
}

/** Runs an operation with a fault at each call, and at some bytes of some bodies. Prints how many there were. */
async function runWithFaults(name: string, operation: Operation): Promise<void> {
  const { plan } = world;
  const counts = { calls: 0, bodies: 0, failed: 0, passed: 0 };
  const tryFault = async (fault: Fault): Promise<boolean> => {
    plan.begin();
    await operation.prepare?.();
    plan.begin(fault);
    const outcome = await operation.run();
    const { hit } = plan;
    plan.begin();
    if (hit === undefined) return false;
    const when = `${name}, ${JSON.stringify(fault)}, at ${hit}`;
    await world.requireReason(outcome, when);
    await world.requireTidy(when);
    await operation.after?.(outcome, when);
    counts['result' in outcome ? 'passed' : 'failed'] += 1;
    if (operation.again) await operation.again(when);
    else {
      const second = await operation.run();
      expect(second, when).toHaveProperty('result');
    }
    return true;
  };
  plan.begin();
  await operation.prepare?.();
  plan.begin();
  const first = await operation.run();
  expect(first, name).toHaveProperty('result');
  const [read, written] = [plan.read, plan.written];
  for (let call = 1; ; call += 1) {
    const how = ERRORS[call % ERRORS.length] ?? 'EIO';
    if (!(await tryFault({ call, how }))) break;
    counts.calls += 1;
  }
  for (let call = 1; ; call += 4) {
    const how = ERRORS[call % ERRORS.length] ?? 'EIO';
    if (!(await tryFault({ call, how, isLasting: true }))) break;
    counts.calls += 1;
    if (!(await tryFault({ call: call + 1, how, late: true }))) break;
    counts.calls += 1;
  }
  let turns = 0;
  for (const [body, bodies] of [
    ['read', read],
    ['write', written],
  ] as const) {
    const step = Math.max(1, Math.floor(bodies.length / BODIES));
    for (let index = 0; index < bodies.length; index += step) {
      turns += 1;
      const bytes = bodies[index]?.bytes ?? 0;
      const byte = turns % 2 === 0 ? 0 : Math.floor(bytes / 2);
      const how = ERRORS[turns % ERRORS.length] ?? 'EIO';
      if (await tryFault({ body, turn: index + 1, byte, how })) counts.bodies += 1;
      const silent = SILENT[turns % SILENT.length] ?? 'altered';
      if (body === 'read' || operation.writes)
        if (await tryFault({ body, turn: index + 1, byte, how: silent })) counts.bodies += 1;
    }
  }
  const { calls, bodies, failed, passed } = counts;
  console.log(`${name}: ${calls} calls, ${bodies} bodies; ${failed} said why, ${passed} went on`);
}

test('adding a copy', async () => {
  await world.publish();
  await runWithFaults('add', {
    prepare: async () => {
      const copy = await world.copyAt(world.flaky);
      if (copy) await world.ask('DELETE', `/manage/copies/${copy.id}`);
      await emptied(fileURLToPath(world.flaky.target));
    },
    run: async () => ((await world.copyAt(world.flaky)) ? { result: {} } : world.add(world.flaky)),
  });
});

describe('a copy', () => {
  beforeEach(async () => {
    await world.publish();
    for (const address of [world.flaky, world.steady]) {
      expect(await world.add(address)).toHaveProperty('result');
      expect(await world.sync(address)).toHaveProperty('result');
    }
  });

  test('is synced', async () => {
    await runWithFaults('sync', {
      prepare: () => world.publish(),
      run: () => world.sync(world.flaky),
      again: async (when) => {
        expect(await world.sync(world.flaky), when).toHaveProperty('result');
        await world.requireIntact(world.flaky, when);
      },
    });
  });

  test('is checked', async () => {
    const [first = '', second = '', third = ''] = [...(await world.publish()), ...(await world.publish())];
    await world.sync(world.flaky);
    await world.sync(world.steady);
    await runWithFaults('check', {
      prepare: async () => {
        await world.damageThere(world.flaky, first, 'other');
        await world.damageThere(world.flaky, second);
        await world.damageHere(third);
      },
      run: () => world.check(world.flaky),
      again: async (when) => {
        expect(await world.check(world.flaky), when).toHaveProperty('result');
        await world.requireIntact(world.flaky, when);
        expect(await world.currentDamages(), when).toEqual([]);
      },
    });
  });

  test('is restored', async () => {
    await world.publish(5_000_000);
    await world.sync(world.flaky);
    const data = join(folder, 'restored');
    await runWithFaults('restore', {
      prepare: () => emptied(data),
      run: () =>
        attempt(async () => {
          const target = await openTarget(world.flaky, { around: world.plan.around });
          try {
            const { signal } = new AbortController();
            return await restoreCopy({
              target,
              folder: data,
              clock: systemClock,
              signal,
              progress: () => {},
            });
          } finally {
            await target.close();
          }
        }),
      after: async (outcome, when) => {
        if ('sentence' in outcome) requireSentence(outcome.sentence, placeOf(world.flaky), when);
        await rm(data, { recursive: true, force: true });
      },
    });
  });
});
