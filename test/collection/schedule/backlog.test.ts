import { expect, test } from 'vitest';
import { Backlog } from '../../../server/collection/schedule/backlog.ts';

test('while many objects wait to be recorded no more are asked for, and then all that waited in their order', async () => {
  const backlog = new Backlog();
  await backlog.room();
  const [first] = Array.from({ length: 512 }, () => backlog.add());
  const order: number[] = [];
  const asking = [0, 1, 2].map(async (number) => {
    await backlog.room();
    order.push(number);
  });
  await Promise.race([...asking, Promise.resolve()]);
  expect(order).toEqual([]);
  first?.();
  await Promise.all(asking);
  expect(order).toEqual([0, 1, 2]);
  // Said twice, it counts once.
  first?.();
  backlog.add();
  const another = backlog.room().then(() => order.push(3));
  await Promise.race([another, Promise.resolve()]);
  expect(order).toEqual([0, 1, 2]);
});
