import { afterEach, expect, test } from 'vitest';
import { VERSION } from '../../../shared/version.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { openCollectingNode } from '../support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test('the User-Agent has name, version and a contact by default, and the owner can replace it', async () => {
  const web = await ScriptedWeb.open();
  web.script('/page', page('text'));
  const node = await openCollectingNode();
  await node.watch(web.url('/page'));
  await node.check();
  const own = 'Curator/2.0 (Example Institute; +https://example.org/bot; mailto:bot@example.org)';
  await node.set({ user_agent: own });
  await node.check();
  const sent = [...web.requests('/robots.txt'), ...web.requests('/page')].map(
    ({ headers }) => headers['user-agent'],
  );
  expect(sent).toHaveLength(4);
  expect(sent[0]).toMatch(new RegExp(`^Strongroom/${VERSION} \\(\\+https?://\\S+\\)$`));
  // robots.txt is requested again, because the rules for another name may differ.
  expect(sent.slice(1)).toEqual([own, sent[0], own]);
});

test.each([
  ['empty', ''],
  ['a line break', 'A\r\nX-Other: 1'],
  ['a control character', 'A\u0000'],
  ['not ASCII', 'Ärchive/1'],
  ['a trailing space', 'A '],
  ['more than 200 characters', 'x'.repeat(201)],
])('an invalid User-Agent is refused: %s', async (_title, user_agent) => {
  const node = await openCollectingNode();
  const before = await node.read<{ user_agent: string }>('/manage/settings');
  const response = await node.node.sendJson('PATCH', '/manage/settings', { user_agent });
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({ errors: [{ path: '/user_agent' }] });
  expect(await node.read('/manage/settings')).toEqual(before);
});

test('a User-Agent of 1 or 200 characters is accepted', async () => {
  const node = await openCollectingNode();
  for (const user_agent of ['x'.repeat(200), 'x']) await node.set({ user_agent });
});
