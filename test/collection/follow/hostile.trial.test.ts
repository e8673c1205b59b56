import { afterEach, expect, test } from 'vitest';
import type { FoundLink } from '../../../shared/collection/follow.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { openCollectingNode } from '../support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test('elements nested a million deep stop at the time or memory of the derive process, and the round goes on', async () => {
  const web = await ScriptedWeb.open();
  const node = await openCollectingNode();
  web.script(
    '/feed',
    page(`<urlset>${'<url>'.repeat(1_000_000)}`, { headers: { 'Content-Type': 'application/xml' } }),
  );
  const { id } = await node.watch(web.url('/feed'), { follow: { kind: 'sitemap', limit: 100 } });
  await node.check([id]);
  const { items } = await node.read<{ items: FoundLink[] }>(`/manage/found?source=${id}`);
  expect(items).toEqual([]);
  expect(await node.check()).toMatchObject({ failed: 0 });
});
