import { afterEach, expect, test } from 'vitest';
import { closeTestNodes } from '../../support/node.ts';
import { closeScriptedWebs, page, ScriptedWeb, stall } from '../../support/scriptedWeb.ts';
import { openCollectingNode } from '../support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test('a round of more sources than may be pending records every object', async () => {
  const web = await ScriptedWeb.open();
  const node = await openCollectingNode({ collection_concurrency: 32, per_host_concurrency: 32 });
  const sources = Array.from({ length: 600 }, (_, n) => {
    web.script(`/${n}`, page(`page ${n}`));
    return web.url(`/${n}`);
  });
  for (const url of sources) await node.watch(url, { ignore_robots: true });
  expect(await node.check()).toMatchObject({ checked: 600, changed: 600 });
  expect(await node.read('/api/events?limit=1')).toMatchObject({ total: 600 });
}, 60_000);

test('slow sites are requested up to the limit of the settings, and not beyond it', async () => {
  const web = await ScriptedWeb.open();
  const node = await openCollectingNode({ collection_concurrency: 7, per_host_concurrency: 7 });
  for (let n = 0; n < 12; n += 1) {
    web.script(`/${n}`, stall);
    await node.watch(web.url(`/${n}`), { ignore_robots: true });
  }
  const asked = () =>
    Array.from({ length: 12 }, (_, n) => web.requests(`/${n}`).length).filter(Boolean).length;
  const round = node.node.fetchAsOwner('/manage/collections', { method: 'POST' });
  await expect.poll(asked, { timeout: 10_000 }).toBe(7);
  await round;
  await node.node.close();
  expect(asked()).toBe(7);
}, 30_000);
