import { expect, test } from 'vitest';
import { Backlog } from '../../server/collection/backlog.ts';

test('while many objects wait to be recorded no more are asked for, and those that wait go on in their order', async () => {
  const backlog = new Backlog();
  await backlog.room();
  const [first, ...others] = Array.from({ length: 512 }, () => backlog.add());
  const order: number[] = [];
  const asking = [0, 1, 2].map(async (number) => {
    await backlog.room();
    order.push(number);
    backlog.add();
  });
  await Promise.race([...asking, Promise.resolve()]);
  expect(order).toEqual([]);
  first?.();
  // Said twice, it counts once.
  first?.();
  await asking[0];
  expect(order).toEqual([0]);
  for (const done of others) done();
  await Promise.all(asking);
  expect(order).toEqual([0, 1, 2]);
});
