import { afterEach, expect, test } from 'vitest';
import { IdleMonitor } from '../../../server/collection/derived/idleMonitor.ts';
import { openStore } from '../../../server/store/store.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';

afterEach(closeTestNodes);

test('a commit that carries a write of others and one of background work wakes the background work', async () => {
  const store = await openStore({ folder: await temporaryFolder(), clock: systemClock });
  const monitor = new IdleMonitor(store, 0);
  let woken = 0;
  monitor.start(() => {
    woken += 1;
  });
  await Promise.all([monitor.write(() => undefined), store.write(() => undefined)]);
  expect(woken).toBe(1);
  monitor.stop();
  await store.close();
});
