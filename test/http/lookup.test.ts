import { afterEach, expect, test } from 'vitest';
import { problemOf, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';

afterEach(closeTestNodes);

test('says which of up to 100 digests the archive has, and where', async () => {
  const node = await openTestNode();
  const pack = await uploadNewPack(node, {}, { 'a/b.txt': 'twelve bytes' });
  const known = sha256Of('twelve bytes');
  const answer = await node.fetch(`/api/lookup?sha256=${known},${'0'.repeat(64)},${known}`);
  expect(await answer.json()).toEqual({
    items: [{ sha256: known, bytes: 12, pack: { id: pack.id, path: 'a/b.txt' }, source: null }],
  });
  const many = Array.from({ length: 101 }, (_, index) => sha256Of(String(index)));
  expect((await node.fetch(`/api/lookup?sha256=${many.slice(1).join(',')}`)).status).toBe(200);
  for (const query of [`sha256=${many.join(',')}`, 'sha256=abc', '', `sha256=${known.toUpperCase()}`])
    expect((await problemOf(node.fetch(`/api/lookup?${query}`))).status, query.slice(0, 20)).toBe(400);
});
