import { afterEach, expect, test } from 'vitest';
import type { SourceImport, WatchedSource } from '../../../shared/collection/source.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { openCollectingNode } from '../support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test('a name from a page title contains nothing that reorders or hides the text around it', async () => {
  const collecting = await openCollectingNode();
  const web = await ScriptedWeb.open();
  const title = '<title>Water\u202e level\u2066s\u2028of\u200f today</title>';
  web.script('/', page(title, { headers: { 'Content-Type': 'text/html; charset=utf-8' } }));
  const headers = { 'Content-Type': 'text/plain' };
  const list = await collecting.node.fetchAsOwner('/manage/sources/import', {
    method: 'POST',
    headers,
    body: web.url('/'),
  });
  expect(((await list.json()) as SourceImport).added).toBe(1);
  await collecting.check();
  const answer = await collecting.node.fetchAsOwner('/manage/sources');
  const { items } = (await answer.json()) as { items: WatchedSource[] };
  expect(items.map(({ name }) => name)).toEqual(['Water levels of today']);
});
