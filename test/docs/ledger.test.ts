import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { nodeKeyOf, privateKeyOfSeed, signCheckpoint } from '../../server/ledger/checkpoint.ts';
import { GrowingTree, leafHash } from '../../server/ledger/tree.ts';
import { codeBlocksOf } from '../support/docs.ts';

test('the test vector in ledger.md is valid', async () => {
  const seed = Buffer.from(Array.from({ length: 32 }, (_, index) => index));
  const key = nodeKeyOf('node.local/strongroom', privateKeyOfSeed(seed));
  const tree = new GrowingTree();
  for (const leaf of ['a', 'b', 'c']) tree.append(leafHash(leaf));
  const files = await codeBlocksOf('ledger.md', 'text');
  expect(files.get('vector.key')).toBe(`${key.verifierKey}\n`);
  expect(files.get('vector.checkpoint')).toBe(signCheckpoint(key, { size: 3, root: tree.root() }));
  expect(
    createHash('sha256')
      .update(files.get('vector.checkpoint') ?? '')
      .digest('hex'),
  ).toBe('95dbce205ddeb88375ab88d9ceb11c560cafb478c19383f650d15f581de5c857');
});
