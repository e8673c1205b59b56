import { afterEach, expect, test } from 'vitest';
import { openCollectingNode } from '../collection/support.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, ScriptedWeb, tagged } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';
import { audit, overwrite } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const A = sha256Of('first');

test('a damaged blob is withheld, and served again after it was repaired by hand', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'first' });
  await overwrite(node.dataFolder, A, 'fixed');
  await audit(node);
  for (const range of ['bytes=0-', 'bytes=0-1']) {
    const answer = await node.fetch(`/api/blobs/${A}`, { headers: { Range: range } });
    expect([answer.status, answer.headers.get('Cache-Control')]).toEqual([500, 'no-store']);
    expect(await answer.json()).toMatchObject({ code: 'blob_damaged' });
  }
  for (const method of ['GET', 'HEAD'])
    expect((await node.fetch(`/api/blobs/${A}`, { method })).status, method).toBe(500);
  await overwrite(node.dataFolder, A, 'first');
  expect(await (await node.fetch(`/api/blobs/${A}`)).text()).toBe('first');
});

test('a damaged object is withheld at its own URL and as a memento', async () => {
  const web = await ScriptedWeb.open();
  web.script('/page', tagged('first', '"1"'));
  const { node } = await openCollectingNode();
  await node.sendJson('POST', '/manage/sources', { url: web.url('/page') });
  await node.sendJson('POST', '/manage/collections?wait=true', {});
  const gate = await node.fetch(`/timegate/${web.url('/page')}`, { redirect: 'manual' });
  const memento = new URL(gate.headers.get('Location') ?? '').pathname;
  const statuses = async () => [
    (await node.fetch(`/archive/${A}`)).status,
    (await node.fetch(memento)).status,
    (await node.fetch(`/archive/${A}/metadata`)).status,
  ];
  expect(await statuses()).toEqual([200, 200, 200]);
  await overwrite(node.dataFolder, A, 'fixed');
  await audit(node);
  expect(await statuses()).toEqual([500, 500, 200]);
});
