import { afterEach, expect, test } from 'vitest';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { openCollectingNode } from '../support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test('of 101,000 links 100,000 are read, and the source says that they are not all', async () => {
  const web = await ScriptedWeb.open();
  const node = await openCollectingNode();
  const links = Array.from({ length: 101_000 }, (_, at) => `<a href=/${at}>`).join('');
  const html = { headers: { 'Content-Type': 'text/html' } };
  web.script('/links', page(`<!doctype html>${links}`, html));
  const { id } = await node.watch(web.url('/links'), { follow: { kind: 'links', limit: 100 } });
  await node.check([id]);
  expect((await node.source(id)).follow_run).toMatchObject({ listed: 100_000, complete: false });
  const { items } = await node.read<{ items: object[] }>(`/manage/found?source=${id}`);
  expect(items).toHaveLength(100);
});
