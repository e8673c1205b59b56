import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Seen } from '../../../shared/collection/event.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

const VERSIONS = ['one', 'two', 'three', 'four', 'five'];

let web: ScriptedWeb;
let node: CollectingNode;
let folder: string;
let source: string;

/** Opens an archive with five events. */
beforeEach(async () => {
  web = await ScriptedWeb.open();
  folder = await temporaryFolder();
  node = await openCollectingNode({}, { dataFolder: folder });
  web.script('/page', ...VERSIONS.map((version) => page(version)));
  ({ id: source } = await node.watch(web.url('/page')));
  for (const _ of VERSIONS) await node.check([source]);
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

async function mark(change: object): Promise<Seen> {
  const answer = await node.node.sendJson('PATCH', '/manage/seen', change);
  expect(answer.status).toBe(200);
  const marks = (await answer.json()) as Seen;
  expect(await node.read('/manage/seen')).toEqual(marks);
  return marks;
}

async function listed(query: string): Promise<number[]> {
  const { items } = await node.read<{ items: { id: number }[] }>(`/manage/events?${query}`);
  return items.map(({ id }) => id);
}

test('events are marked one by one and all at once, and the filter answers accordingly', async () => {
  expect(await node.read('/manage/seen')).toEqual({ until: 0, exceptions: [], unseen: 5, unseen_noise: 0 });
  expect(await mark({ seen: [2] })).toMatchObject({ until: 0, exceptions: [2], unseen: 4 });
  expect(await listed('seen=false')).toEqual([5, 4, 3, 1]);
  expect(await listed('seen=true')).toEqual([2]);
  expect(await listed('seen=false&event_type=changed&limit=2')).toEqual([5, 4]);
  expect(await listed('')).toEqual([5, 4, 3, 2, 1]);
  expect(await mark({ seen: [1] })).toMatchObject({ until: 2, exceptions: [], unseen: 3 });
  expect(await mark({ until: 4 })).toMatchObject({ until: 4, exceptions: [], unseen: 1 });
  expect(await mark({ unseen: [3, 1] })).toMatchObject({ until: 4, exceptions: [1, 3], unseen: 3 });
  expect(await mark({ until: 2 })).toMatchObject({ until: 4, exceptions: [3], unseen: 2 });
  expect(await listed('seen=false')).toEqual([5, 3]);
  // Events that do not exist yet stay unseen when they come.
  expect(await mark({ until: 99, seen: [99] })).toMatchObject({ until: 5, exceptions: [], unseen: 0 });
  expect(await listed('seen=false')).toEqual([]);
});

test('the marks outlive a restart, and are in no dump and no ledger entry', async () => {
  const ledgerBefore = await node.read<{ total: number }>('/api/ledger?limit=1');
  await mark({ until: 4, unseen: [2] });
  expect(await node.read<{ total: number }>('/api/ledger?limit=1')).toMatchObject({
    total: ledgerBefore.total,
  });
  const dump = await (await node.node.fetchAsOwner('/api/dump.jsonl')).text();
  expect(dump).not.toMatch(/seen_until|seen_exceptions|events_seen/);
  await node.node.close();
  node = await openCollectingNode({}, { dataFolder: folder });
  expect(await node.read('/manage/seen')).toEqual({ until: 4, exceptions: [2], unseen: 2, unseen_noise: 0 });
  expect(await listed('seen=false')).toEqual([5, 2]);
});

test('visitors can neither read nor filter nor change the marks', async () => {
  for (const path of ['/manage/seen', '/manage/events', '/manage/events?seen=false']) {
    const answer = await node.node.fetch(path);
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ code: 'owner_required' });
  }
  const change = await node.node.fetch('/manage/seen', {
    method: 'PATCH',
    body: '{"until":5}',
    headers: { 'Content-Type': 'application/json' },
  });
  expect(change.status).toBe(401);
  const filtered = await node.node.fetch('/api/events?seen=false');
  expect(filtered.status).toBe(400);
  expect(await filtered.json()).toMatchObject({ code: 'unknown_parameter' });
  expect(await (await node.node.fetch('/api/events')).text()).not.toMatch(/"(is_)?(un)?seen"/);
  expect(await node.read('/manage/seen')).toMatchObject({ until: 0 });
});

test.each([[{ until: 0 }], [{ until: 1.5 }], [{ seen: ['1'] }], [{ unseen: [0] }], [{ all: true }]])(
  'refuses %j',
  async (change) => {
    expect((await node.node.sendJson('PATCH', '/manage/seen', change)).status).toBe(422);
  },
);
