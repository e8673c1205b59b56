import { afterEach, beforeEach, describe, expect, test } from 'vitest';
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

const found = (body: string) => page(body);
const broken = page('broken', { status: 500 });

describe('a fault of the observer’s own network', () => {
  async function threeHosts() {
    const webs = [
      web,
      await ScriptedWeb.open({ host: '127.0.0.2' }),
      await ScriptedWeb.open({ host: '127.0.0.3' }),
    ];
    const node = await openCollectingNode({ unavailable_after_failures: 1 });
    const ids: string[] = [];
    for (const host of webs) {
      host.script('/page', found('1'));
      ids.push((await node.watch(host.url('/page'))).id);
    }
    await node.check();
    return { node, webs, ids };
  }

  test('is assumed if none of three hosts responds: no failure counts', async () => {
    const { node, webs, ids } = await threeHosts();
    for (const host of webs) host.script('/page', (socket) => void socket.resetAndDestroy());
    const before = await node.status();
    expect(await node.check()).toMatchObject({ checked: 3, failed: 3, events: [], observer_offline: true });
    for (const id of ids) {
      expect(await node.source(id)).toMatchObject({
        state: 'available',
        consecutive_failures: 0,
        last_status: 200,
      });
      expect((await node.retrievals(id)).at(-1), 'the attempt is recorded').toMatchObject({
        error: 'connection_reset',
      });
    }
    const after = await node.status();
    expect(after).toMatchObject({ sources: { available: 3, failing: 0 }, failing: [] });
    expect(after.last_completed_collection_at).toBe(before.last_completed_collection_at);
  });

  test('is not assumed if one host sends any response: the failures of the others count', async () => {
    const { node, webs, ids } = await threeHosts();
    webs[0]?.script('/page', (socket) => void socket.resetAndDestroy());
    webs[1]?.script('/page', (socket) => void socket.resetAndDestroy());
    webs[2]?.script('/page', broken);
    expect(await node.check()).toMatchObject({ failed: 3, observer_offline: false, events: [4, 5, 6] });
    for (const id of ids) expect(await node.source(id)).toMatchObject({ state: 'unavailable' });
    expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });
  });

  test('is not assumed for sources that robots.txt disallows', async () => {
    const { node, webs, ids } = await threeHosts();
    const forbidden = page('User-agent: *\nDisallow: /', { headers: { 'Content-Type': 'text/plain' } });
    const others = await Promise.all(
      ['127.0.0.4', '127.0.0.5', '127.0.0.6'].map((host) => ScriptedWeb.open({ host })),
    );
    for (const other of others) {
      other.script('/robots.txt', forbidden);
      ids.push((await node.watch(other.url('/page'))).id);
    }
    await node.check(ids.slice(3));
    webs[0]?.script('/page', (socket) => void socket.resetAndDestroy());
    expect(await node.check([...ids.slice(3), ids[0] as string])).toMatchObject({
      failed: 4,
      observer_offline: false,
    });
    expect(await node.source(ids[0] as string)).toMatchObject({ state: 'unavailable' });
  });

  test('is not assumed for two hosts: their failures count', async () => {
    const { node, webs, ids } = await threeHosts();
    for (const host of webs) host.script('/page', (socket) => void socket.resetAndDestroy());
    expect(await node.check(ids.slice(0, 2))).toMatchObject({ failed: 2, observer_offline: false });
    expect(await node.status()).toMatchObject({ sources: { available: 1, failing: 2 } });
  });
});
