import { randomBytes } from 'node:crypto';
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { repairFromCopies } from '../../server/copies/check.ts';
import { CopyQueue } from '../../server/copies/copyQueue.ts';
import { restoreCopy } from '../../server/copies/restore.ts';
import { openTarget } from '../../server/copies/targets/openTarget.ts';
import type { CopyTarget } from '../../server/copies/targets/target.ts';
import { confirmDamage } from '../../server/fixity/audit.ts';
import { openArchive } from '../../server/ledger/openArchive.ts';
import { Jobs } from '../../server/runtime/jobs.ts';
import { createLog } from '../../server/runtime/log.ts';
import { allCopies } from '../../server/store/sqlite/node/copies.ts';
import type { RestoreDrill } from '../../shared/node/copy.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { ERRORS, type Fault, SILENT } from '../support/copies/flakyTarget.ts';
import type { ObjectStore } from '../support/network/objectStore.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { requireOnLinux } from '../support/requirements.ts';
import { sharedObjectStore } from '../support/trials.ts';
import { attempt, emptied, FlakyWorld, type Outcome, placeOf, requireSentence } from './flakyWorld.ts';

/** The bodies that are tried at several bytes, and those bytes as parts of the body. */
const BODIES = 10;
const BUCKET = 'flaky-tests';

/** A copy is read back and verified after each so many faults, which is slower than all of them. */
const VERIFIED_EACH = 8;

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
  again?: (when: string, verifies: boolean) => Promise<unknown>;
  /** Only each so many calls and bodies are tried; all if undefined. */
  stride?: number;
}

/** Runs an operation with a fault at each call, and at some bytes of some bodies. Prints how many there were. */
async function runWithFaults(name: string, operation: Operation): Promise<void> {
  const { plan } = world;
  const counts = { calls: 0, bodies: 0, failed: 0, passed: 0 };
  let tried = 0;
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
    tried += 1;
    if (operation.again) await operation.again(when, tried % VERIFIED_EACH === 0);
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
  const stride = operation.stride ?? 1;
  for (let call = 1; ; call += stride) {
    const how = ERRORS[call % ERRORS.length] ?? 'EIO';
    if (!(await tryFault({ call, how }))) break;
    counts.calls += 1;
  }
  for (let call = 1; ; call += 4 * stride) {
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
    const step = stride * Math.max(1, Math.floor(bodies.length / BODIES));
    for (let index = 0; index < bodies.length; index += step) {
      turns += 1;
      const bytes = bodies[index]?.bytes ?? 0;
      const byte = turns % 2 === 0 ? 0 : Math.floor(bytes / 2);
      const how = ERRORS[turns % ERRORS.length] ?? 'EIO';
      if (await tryFault({ body, turn: index + 1, byte, how })) counts.bodies += 1;
      const silent = SILENT[turns % SILENT.length] ?? 'altered';
      if (body === 'read')
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
      again: async (when, verifies) => {
        expect(await world.sync(world.flaky), when).toHaveProperty('result');
        if (verifies) await world.requireIntact(world.flaky, when);
      },
    });
    await world.requireIntact(world.flaky, 'after all syncs');
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
      again: async (when, verifies) => {
        expect(await world.check(world.flaky), when).toHaveProperty('result');
        if (verifies) await world.requireIntact(world.flaky, when);
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

  test('is verified', async () => {
    await runWithFaults('verify', {
      run: async () => {
        const verified = await attempt(async () => world.verified({ ...world.flaky, plan: world.plan }));
        if ('result' in verified || verified.code !== 'DumpError') return verified;
        // As the command says it.
        const sentence = `The records of ${placeOf(world.flaky)} are invalid: ${verified.sentence}`;
        return { sentence, code: verified.code };
      },
      again: async (when) => {
        expect(await world.verified(world.flaky), when).toMatchObject({ ok: true });
      },
    });
  });

  test('is drilled', async () => {
    await runWithFaults('drill', {
      run: async () => {
        const drilled = await world.drill(world.flaky);
        if (!('result' in drilled)) return drilled;
        const { outcome, sentence } = drilled.result as RestoreDrill;
        return outcome === 'restored' ? drilled : { sentence, code: outcome };
      },
      after: async (outcome, when) => {
        if ('sentence' in outcome) expect(['unreachable', 'damaged'], when).toContain(outcome.code);
      },
    });
  });

  test('has the key put there and removed', async () => {
    const key = async (method: string, body?: object) =>
      world.ask(method, `/manage/copies/${await world.idOf(world.flaky)}/key`, body);
    await runWithFaults('key', {
      run: async () => {
        const kept = await key('PUT', { passphrase: 'a long passphrase' });
        const removed = await key('DELETE');
        return 'sentence' in kept ? kept : removed;
      },
      again: async (when, verifies) => {
        expect(await key('DELETE'), when).toHaveProperty('result');
        if (verifies) await world.requireIntact(world.flaky, when);
      },
    });
    await world.requireIntact(world.flaky, 'after all keys');
    expect(await world.copyAt(world.flaky)).toMatchObject({ has_key: false });
  });

  test('has objects leave for it, which are read from another copy and come back', async () => {
    let away: string[] = [];
    const leave = async () => {
      await world.ask('PATCH', '/manage/settings', { offload_after_days: null });
      away = await world.publish();
      for (const address of [world.steady, world.flaky]) await world.sync(address);
      // Only what was checked there is read back from there.
      await world.check(world.flaky, { sample: 4 });
    };
    const isThere = async (when: string) => {
      for (const sha256 of away) expect(await world.read(sha256), when).toHaveProperty('result');
    };
    await runWithFaults('offload', {
      prepare: leave,
      run: world.offload,
      after: (_, when) => isThere(when),
    });
    // The cache would have it.
    const prepare = async () => {
      await world.reopen();
      await world.offload();
    };
    await runWithFaults('read what left', {
      prepare,
      run: async () => ({ result: await isThere('while a copy fails') }),
    });
    await runWithFaults('bring back', {
      stride: 5,
      prepare,
      run: () => world.ask('POST', '/manage/offload/return?wait=true'),
      after: async (outcome, when) => expect(outcome, when).toHaveProperty('result'),
    });
  });

  test('has what a lost copy held, and nothing of it is lost', async () => {
    const lost = { target: pathToFileURL(join(folder, 'lost')).href };
    let away: string[] = [];
    await runWithFaults('mark lost', {
      prepare: async () => {
        if (await world.copyAt(lost)) await world.markLost(lost);
        await emptied(fileURLToPath(lost.target));
        await world.add(lost);
        away = await world.publish();
        await world.sync(lost);
        await world.check(lost);
        await world.offload();
        // As after a sync of the other copy that was killed.
        for (const sha256 of away)
          await cp(
            join(fileURLToPath(lost.target), 'archive', sha256),
            join(fileURLToPath(world.flaky.target), 'archive', sha256),
          );
        await emptied(fileURLToPath(lost.target));
      },
      run: () => world.markLost(lost),
      again: async (when) => {
        expect(await world.sync(world.flaky), when).toHaveProperty('result');
        expect(await world.check(world.flaky), when).toHaveProperty('result');
        for (const sha256 of away) expect(await world.read(sha256), when).toHaveProperty('result');
        expect(await world.currentDamages(), when).toEqual([]);
      },
    });
    // A place that does not answer at all is lost if its owner says so. Added again, it gives back what it has.
    const addAgain = async () => {
      if (await world.copyAt(world.flaky)) return;
      await world.add(world.flaky);
      await world.sync(world.flaky);
      await world.check(world.flaky);
    };
    await runWithFaults('mark a copy as lost that is not', {
      run: async () => {
        const answered = await world.markLost(world.flaky);
        return 'sentence' in answered && answered.code === 'copy_readable' ? { result: answered } : answered;
      },
      again: async (when) => {
        await addAgain();
        expect(await world.currentDamages(), when).toEqual([]);
        for (const sha256 of away) expect(await world.read(sha256), when).toHaveProperty('result');
      },
    });
  });

  test('repairs what is damaged here, and the other copy is asked too', async () => {
    const [sha256 = ''] = await world.publish();
    for (const address of [world.flaky, world.steady]) await world.sync(address);
    const { dataFolder } = world.node;
    await world.node.close();
    const { store } = await openArchive({ folder: dataFolder, clock: systemClock });
    const jobs = new Jobs(systemClock, store.randomHex);
    const queue = new CopyQueue(store, { folder: dataFolder, around: world.plan.around }, jobs, () => {});
    const isFlaky = ({ target }: { target: string }) => target === world.flaky.target;
    const copies = allCopies(store.read).sort(
      (left, right) => Number(isFlaky(right)) - Number(isFlaky(left)),
    );
    const { signal } = new AbortController();
    const repair = {
      store,
      copies,
      signal,
      log: createLog('silent'),
      withTarget: <Result>(id: string, work: (target: CopyTarget) => Promise<Result>) =>
        queue.withTarget(id, work),
    };
    const lastError = () => allCopies(store.read).find(isFlaky)?.last_error;
    const damage = async () => {
      await writeFile(world.blobFile(sha256), 'damaged');
      await confirmDamage(store, [sha256]);
    };
    await runWithFaults('repair', {
      prepare: damage,
      run: async () => {
        expect(await repairFromCopies(repair)).toEqual([sha256]);
        return { result: lastError() };
      },
      after: async (_, when) => requireSentence(lastError() ?? '', placeOf(world.flaky), when),
      again: async (when) => {
        await damage();
        expect(await repairFromCopies(repair), when).toEqual([sha256]);
      },
    });
    await jobs.close();
    await store.close();
  });
});

test('a copy in a bucket', async ({ skip }) => {
  const store = sharedObjectStore();
  requireOnLinux(store !== undefined, 'This machine does not have an object store.', skip);
  const { endpoint, region, access_key, secret_key } = store as ObjectStore;
  await store?.createBucket(BUCKET);
  const bucket = {
    target: `s3://${BUCKET}/${randomBytes(6).toString('hex')}`,
    endpoint,
    region,
    access_key,
    secret_key,
  };
  await world.node.close();
  world = new FlakyWorld(join(folder, 'data'), bucket, world.steady);
  await world.open();
  await world.publish();
  expect(await world.add(bucket)).toHaveProperty('result');
  expect(await world.sync(bucket)).toHaveProperty('result');
  await runWithFaults('sync to a bucket', {
    stride: 10,
    prepare: () => world.publish(),
    run: () => world.sync(bucket),
  });
  await runWithFaults('check of a bucket', { stride: 12, run: () => world.check(bucket) });
  await world.requireIntact(bucket, 'after all faults');
  await store?.close();
});
