import { afterEach, expect, test } from 'vitest';
import { closeTestNodes, openTestNode } from '../../support/node.ts';

afterEach(closeTestNodes);

test('GET /manage/storage returns used and free space with the two limits, to the owner only', async () => {
  const node = await openTestNode();
  expect((await node.fetch('/manage/storage')).status).toBe(401);
  const fresh = await (await node.fetchAsOwner('/manage/storage')).json();
  expect(fresh).toMatchObject({ held_bytes: 0, cap_bytes: 10_000_000_000, min_free_bytes: 5_000_000_000 });

  const bytes = 'x'.repeat(1500);
  const form = new FormData();
  form.append(
    'record',
    JSON.stringify({
      pack_format: 1,
      terms_version: '2026-10-01',
      title: 'One file',
      authors: [{ name: 'A' }],
      license: 'CC0-1.0',
      outcome: 'null',
    }),
  );
  form.append('files', new Blob([bytes]), 'a.txt');
  expect((await node.fetchAsOwner('/api/packs', { method: 'POST', body: form })).status).toBe(201);
  const filled = await (await node.fetchAsOwner('/manage/storage')).json();
  expect(filled).toMatchObject({ held_bytes: 1500 });

  await node.sendJson('PATCH', '/manage/settings', { data_cap_gb: 0.000001, min_free_disk_gb: 0 });
  const full = await (await node.fetchAsOwner('/manage/storage')).json();
  expect(full).toMatchObject({ held_bytes: 1500, cap_bytes: 1000, no_room: 'data_cap_reached' });
});
