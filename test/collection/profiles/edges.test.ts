import { afterEach, describe, expect, test } from 'vitest';
import type { PageCapture, PageList } from '../../../shared/collection/page.ts';
import type { WatchedSource } from '../../../shared/collection/source.ts';
import { filesWith } from '../../copies/withheldCopies.ts';
import { eventually } from '../../support/eventually.ts';
import { closeScriptedWebs, page, redirect, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { addProfile, CANARY, cookie, cookiesOf, members } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const HTML = { 'content-type': 'text/html; charset=utf-8' };

async function pagesOf(node: CollectingNode, source: string): Promise<PageCapture[]> {
  const { items } = await node.read<PageList>(`/archive/pages?source=${source}`);
  return Promise.all(items.map(({ id }) => node.read<PageCapture>(`/archive/pages/${id}`)));
}

test('an address with the session in it is not kept with the validators', async () => {
  const web = await ScriptedWeb.open();
  web.script('/', redirect(`/home?session=${CANARY}`));
  web.script(`/home?session=${CANARY}`, members('mine', CANARY, { ETag: '"v1"' }));
  const node = await openCollectingNode();
  const { id: profile } = await addProfile(node);
  await node.watch(web.url('/'), { profile });
  expect(await node.check()).toMatchObject({ failed: 0 });
  expect(await filesWith(node.node.dataFolder, CANARY)).toEqual([]);
});

test('what the site says of a version counts for no other login, also if it came before the change', async () => {
  const web = await ScriptedWeb.open();
  const node = await openCollectingNode();
  const { id: profile } = await addProfile(node);
  const { id } = await node.watch(web.url('/'), { profile });
  web.script('/', async (socket, request) => {
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { profile: null });
    return page('mine', { headers: { ETag: '"v1"' } })(socket, request);
  });
  await node.check();
  web.script('/', page('public'));
  await node.check();
  expect(web.requests('/').at(-1)?.headers).not.toHaveProperty('if-none-match');
});

test('an attempt that is made again keeps no cookies of a login page', async () => {
  const web = await ScriptedWeb.open();
  const refusal = page('Log in', { status: 401, headers: { 'Set-Cookie': 'sid=anonymous; Path=/' } });
  web.script('/', refusal, members('mine'));
  const node = await openCollectingNode({ retry_delays_seconds: [0] });
  const { id: profile } = await addProfile(node);
  const { id } = await node.watch(web.url('/'), { profile });
  expect(await node.check()).toMatchObject({ failed: 0 });
  expect(cookiesOf(web, '/')).toEqual([`sid=${CANARY}`, `sid=${CANARY}`]);
  expect(await node.source(id)).toMatchObject({ login: 'works' });
});
