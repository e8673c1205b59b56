import { afterEach, expect, test, vi } from 'vitest';
import { allWithheldObjects, releaseAll, usesOf } from '../../renderer/src/pages/withheld/releaseObjects.ts';
import type { Withholding } from '../../shared/node/withheld.ts';
import { filesOf, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';

afterEach(async () => {
  vi.unstubAllGlobals();
  await closeTestNodes();
});

test('all that a withholding covers is listed, looked at and given up, a few requests at once', async () => {
  const node = await openTestNode();
  const files = Object.fromEntries(
    Array.from({ length: 503 }, (_, index) => [`${index}.txt`, `file ${String(index).padStart(4, '0')}`]),
  );
  const { id: pack } = await uploadNewPack(node, { title: 'Large', files: filesOf(files) }, files);
  const made = await node.sendJson('POST', '/manage/withheld', { pack, reason: 'copyright' });
  const { ledger_entry } = (await made.json()) as Withholding;

  let underWay = 0;
  let most = 0;
  let refused = '';
  vi.stubGlobal('fetch', async (address: string, init: RequestInit) => {
    most = Math.max(most, (underWay += 1));
    try {
      const isRefused = refused !== '' && typeof init.body === 'string' && init.body.includes(refused);
      const headers = { ...(init.headers as Record<string, string>), Authorization: `Bearer ${node.token}` };
      const body = isRefused ? '{}' : init.body;
      return await realFetch(new URL(address, node.url), { ...init, headers, ...(body && { body }) });
    } finally {
      underWay -= 1;
    }
  });
  const { signal } = new AbortController();
  const objects = await allWithheldObjects(ledger_entry, signal);
  expect(objects).toHaveLength(503);
  const digests = objects.map(({ sha256 }) => sha256);
  const looked: number[] = [];
  const uses = await usesOf(digests, { signal, onProgress: (done) => looked.push(done) });
  expect([uses.packs.total, uses.packs.items.length, uses.sources.total, looked.at(-1)]).toEqual([
    503, 6, 0, 503,
  ]);

  refused = digests[2] ?? '';
  let given = 0;
  const why = { reason: 'copyright' } as const;
  await expect(releaseAll(digests, why, (done) => (given = done))).rejects.toThrow();
  expect([given, (await allWithheldObjects(ledger_entry, signal)).length]).toEqual([2, 501]);
  refused = '';
  await releaseAll(
    await allWithheldObjects(ledger_entry, signal).then((left) => left.map(({ sha256 }) => sha256)),
    why,
    (done) => (given = done),
  );
  expect([given, most]).toEqual([501, 4]);
  expect(await (await node.fetchAsOwner('/api/released?limit=1')).json()).toMatchObject({ total: 503 });
  expect((await node.fetchAsOwner(`/api/blobs/${sha256Of('file 0007')}`)).status).toBe(410);
});

const realFetch = globalThis.fetch;
