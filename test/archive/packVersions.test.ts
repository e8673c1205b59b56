import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

test('a version is counted along the packs that each supersedes, and two successors share a number', async () => {
  const first = await uploadNewPack(node, { title: 'First' });
  const second = await uploadNewPack(node, { title: 'Second', supersedes: first.id });
  const third = await uploadNewPack(node, { title: 'Third', supersedes: second.id });
  const rival = await uploadNewPack(node, { title: 'Rival', supersedes: first.id });
  const alone = await uploadNewPack(node, { title: 'Alone' });
  expect([first, second, third, rival, alone].map(({ evidence }) => evidence.version)).toEqual([
    1, 2, 3, 2, 1,
  ]);

  const { items } = (await (await node.fetch('/api/packs')).json()) as { items: Pack[] };
  expect(Object.fromEntries(items.map(({ title, evidence }) => [title, evidence.version]))).toEqual({
    First: 1,
    Second: 2,
    Third: 3,
    Rival: 2,
    Alone: 1,
  });
  // A page without the earlier versions counts them too.
  const page = (await (await node.fetch('/api/packs?q=Third')).json()) as { items: Pack[] };
  expect(page.items.map(({ evidence }) => evidence.version)).toEqual([3]);
});
