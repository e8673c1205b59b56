import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { closeScriptedWebs, page, ScriptedWeb, silence } from '../../support/network/scriptedWeb.ts';
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

const found = (body: string) => page(body);

describe('rounds', () => {
  test('without wait, a round is a job with progress and a result', async () => {
    const node = await openCollectingNode();
    web.script('/page', found('1'));
    await node.watch(web.url('/page'));
    const response = await node.node.fetchAsOwner('/manage/collections', { method: 'POST' });
    expect(response.status).toBe(202);
    const { id } = (await response.json()) as { id: string };
    await node.check();
    expect(await node.read(`/manage/jobs/${id}`)).toMatchObject({
      kind: 'collection',
      state: 'done',
      progress: { done: 1, total: 1, unit: 'sources' },
      result: { checked: 1, events: [1] },
    });
  });

  test('a round that is started while another runs waits for it', async () => {
    const node = await openCollectingNode();
    let respond = () => {};
    web.script(
      '/page',
      (socket, request) => {
        respond = () => void found('1')(socket, request);
      },
      found('2'),
    );
    await node.watch(web.url('/page'));
    const [first, second] = [node.check(), node.check()];
    await web.asked('/page');
    expect(web.requests('/page')).toHaveLength(1);
    respond();
    expect([(await first).events, (await second).events]).toEqual([[1], [2]]);
  });

  test('an interval that is changed during a check applies to the next due time', async () => {
    const node = await openCollectingNode();
    let respond = () => {};
    web.script('/page', (socket, request) => {
      respond = () => void found('1')(socket, request);
    });
    const { id } = await node.watch(web.url('/page'));
    const round = node.check();
    await web.asked('/page');
    const change = await node.node.sendJson('PATCH', `/manage/sources/${id}`, { every_minutes: 10_000 });
    expect(change.status).toBe(200);
    respond();
    await round;
    const { last_checked_at, next_check_at } = await node.source(id);
    const minutes = (Date.parse(next_check_at ?? '') - Date.parse(last_checked_at ?? '')) / 60_000;
    expect(minutes).toBeGreaterThan(9_000);
  });

  test('a cancelled round ends at once and does not record aborted attempts', async () => {
    const node = await openCollectingNode();
    web.script('/page', silence);
    const { id } = await node.watch(web.url('/page'));
    const { id: job } = (await (
      await node.node.fetchAsOwner('/manage/collections', { method: 'POST' })
    ).json()) as {
      id: string;
    };
    await web.asked('/page');
    const cancelled = await node.node.fetchAsOwner(`/manage/jobs/${job}`, { method: 'DELETE' });
    expect(await cancelled.json()).toMatchObject({ state: 'cancelled' });
    expect(await node.retrievals(id)).toEqual([]);
    expect(await node.status(), 'it was not completed').toMatchObject({ ok: false });
  });

  test('paused sources are checked only by id; unknown and removed ids are refused', async () => {
    const node = await openCollectingNode();
    web.script('/page', found('1'));
    const { id } = await node.watch(web.url('/page'));
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { paused: true });
    expect(await node.check()).toMatchObject({ checked: 0 });
    expect(await node.check([id, id])).toMatchObject({ checked: 1 });
    await node.node.fetchAsOwner(`/manage/sources/${id}`, { method: 'DELETE' });
    for (const unknown of [id, `so_${'0'.repeat(20)}`]) {
      const response = await node.node.sendJson('POST', '/manage/collections?wait=true', {
        sources: [unknown],
      });
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({
        code: 'unknown_source',
        errors: [{ path: '/sources/0' }],
      });
    }
  });
});
