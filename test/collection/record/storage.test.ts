import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { openCollectingNode } from '../support.ts';

let web: ScriptedWeb;

beforeEach(async () => {
  web = await ScriptedWeb.open();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Opens a node that does not require free disk space, so that the tests also pass on a nearly full disk. */
const openNode = (settings: object = {}) => openCollectingNode({ min_free_disk_gb: 0, ...settings });

const small = page('x'.repeat(600));
const other = page('y'.repeat(600));

test('at the data cap, new objects are not stored, the status reports it, and no failure counts', async () => {
  const node = await openNode({ data_cap_gb: 0.000_001, unavailable_after_failures: 1 });
  web.script('/page', small, other, small, other);
  const { id } = await node.watch(web.url('/page'));
  await node.check();
  expect(await node.status()).toMatchObject({ storage: null });
  expect(await node.check()).toMatchObject({ failed: 1, events: [] });
  expect((await node.retrievals(id)).at(-1)).toMatchObject({
    error: 'storage_full',
    status: 200,
    sha256: null,
  });
  expect(await node.source(id)).toMatchObject({ state: 'available', consecutive_failures: 0 });
  expect(await node.status()).toMatchObject({ storage: 'data_cap_reached', failing: [] });
  expect(await node.check(), 'a stored object needs no space').toMatchObject({ unchanged: 1, failed: 0 });
  await node.set({ data_cap_gb: 1 });
  expect(await node.check()).toMatchObject({ changed: 1, events: [2] });
  expect(await node.status()).toMatchObject({ storage: null });
});

test('an exceeded data cap or disk limit stops new objects before they are written', async () => {
  const node = await openNode();
  web.script('/page', small, other, small, other);
  const { id } = await node.watch(web.url('/page'));
  await node.check();
  await node.set({ data_cap_gb: 0 });
  expect(await node.check()).toMatchObject({ failed: 1, events: [] });
  expect(await node.status()).toMatchObject({ storage: 'data_cap_reached' });
  await node.set({ data_cap_gb: 10, min_free_disk_gb: 1_000_000 });
  expect(await node.check()).toMatchObject({ unchanged: 1 });
  expect(await node.check()).toMatchObject({ failed: 1 });
  expect(await node.status()).toMatchObject({ storage: 'disk_nearly_full' });
  expect((await node.retrievals(id)).map(({ error }) => error)).toEqual([
    null,
    'storage_full',
    null,
    'storage_full',
  ]);
  expect(await readdir(join(node.node.dataFolder, 'tmp'))).toEqual([]);
  expect(await node.read('/api/stats')).toMatchObject({ archived_objects: 1, observations: 2 });
});

test('concurrent objects do not exceed the data cap', async () => {
  const node = await openNode({ data_cap_gb: 0.000_003_1, per_host_concurrency: 20 });
  const ids: string[] = [];
  for (let number = 0; number < 12; number += 1) {
    web.script(`/${number}`, page(`${number}`.padEnd(600, '-')));
    ids.push((await node.watch(web.url(`/${number}`))).id);
  }
  expect(await node.check()).toMatchObject({ checked: 12, changed: 5, failed: 7 });
  const errors = (await Promise.all(ids.map((id) => node.retrievals(id)))).flat().map(({ error }) => error);
  expect(errors.filter((error) => error === null)).toHaveLength(5);
  expect(errors.filter((error) => error === 'storage_full')).toHaveLength(7);
});

test('without space, an error response is recorded as a failure without its body', async () => {
  const node = await openNode({ data_cap_gb: 0 });
  web.script('/page', page('x'.repeat(600), { status: 404 }));
  const { id } = await node.watch(web.url('/page'));
  await node.check();
  expect(await node.retrievals(id)).toMatchObject([
    { error: 'http_error', status: 404, sha256: null, bytes: null },
  ]);
  expect(await node.source(id)).toMatchObject({ consecutive_failures: 1 });
});
