import { expect, test } from 'vitest';
import { Backlog } from '../../../server/collection/schedule/backlog.ts';

test('makes callers wait while too many objects are pending, then resumes them in order', async () => {
  const backlog = new Backlog();
  await backlog.waitForCapacity();
  const [first] = Array.from({ length: 512 }, () => backlog.add());
  const order: number[] = [];
  const waiting = [0, 1, 2].map(async (number) => {
    await backlog.waitForCapacity();
    order.push(number);
  });
  await Promise.race([...waiting, Promise.resolve()]);
  expect(order).toEqual([]);
  first?.();
  await Promise.all(waiting);
  expect(order).toEqual([0, 1, 2]);
  // A second call has no effect.
  first?.();
  backlog.add();
  const another = backlog.waitForCapacity().then(() => order.push(3));
  await Promise.race([another, Promise.resolve()]);
  expect(order).toEqual([0, 1, 2]);
});
