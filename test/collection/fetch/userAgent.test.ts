import { afterEach, expect, test } from 'vitest';
import { VERSION } from '../../../server/config.ts';
import { closeTestNodes } from '../../support/node.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/scriptedWeb.ts';
import { openCollectingNode } from '../support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test('a site is told what asks it, in which version, and how to reach who runs it; the owner can say so in own words', async () => {
  const web = await ScriptedWeb.open();
  web.script('/page', page('text'));
  const node = await openCollectingNode();
  await node.watch(web.url('/page'));
  await node.check();
  const own = 'Curator/2.0 (Example Institute; +https://example.org/bot; mailto:bot@example.org)';
  await node.set({ user_agent: own });
  await node.check();
  const told = [...web.requests('/robots.txt'), ...web.requests('/page')].map(
    ({ headers }) => headers['user-agent'],
  );
  expect(told).toHaveLength(4);
  expect(told[0]).toMatch(new RegExp(`^Strongroom/${VERSION} \\(\\+https?://\\S+\\)$`));
  // The rules for another name may be others, so they are asked for again.
  expect(told.slice(1)).toEqual([own, told[0], own]);
});

test.each([
  ['nothing', ''],
  ['a line break', 'A\r\nX-Other: 1'],
  ['a control character', 'A\u0000'],
  ['what is no ASCII', 'Ärchive/1'],
  ['a space at an end', 'A '],
  ['more than 200 characters', 'x'.repeat(201)],
])('a user agent that is %s is refused and changes nothing', async (_title, user_agent) => {
  const node = await openCollectingNode();
  const before = await node.read<{ user_agent: string }>('/manage/settings');
  const answer = await node.node.sendJson('PATCH', '/manage/settings', { user_agent });
  expect(answer.status).toBe(422);
  expect(await answer.json()).toMatchObject({ errors: [{ path: '/user_agent' }] });
  expect(await node.read('/manage/settings')).toEqual(before);
});

test('one of 200 characters, and one of a single one, are taken', async () => {
  const node = await openCollectingNode();
  for (const user_agent of ['x'.repeat(200), 'x']) await node.set({ user_agent });
});
