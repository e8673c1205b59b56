import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Source, WatchedSource } from '../../../shared/collection/source.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';

let node: TestNode;
let web: ScriptedWeb;

beforeEach(async () => {
  web = await ScriptedWeb.open();
  node = await openTestNode();
  await node.sendJson('PATCH', '/manage/settings', { per_host_pause_ms: 0, retry_delays_seconds: [] });
});

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test('a watched source has its last checks, oldest first, and the time of its last event', async () => {
  web.script('/', page('one'), page('gone', { status: 404 }), page('one'));
  const { id } = await json<WatchedSource>(node.sendJson('POST', '/manage/sources', { url: web.url('/') }));
  for (let round = 0; round < 3; round += 1) await node.sendJson('POST', '/manage/collections?wait=true', {});
  const source = await json<WatchedSource>(node.fetchAsOwner(`/manage/sources/${id}`));
  expect(source.recent_checks).toEqual([null, 'http_error', null]);
  const { items } = await json<{ items: { observed_at: string }[] }>(node.fetch(`/api/events?source=${id}`));
  expect(source.last_event_at).toBe(items[0]?.observed_at);
});

test('a source is public, even after its removal; its id is case-sensitive', async () => {
  web.script('/', page('one'));
  const { id } = await json<WatchedSource>(node.sendJson('POST', '/manage/sources', { url: web.url('/') }));
  const listed = await json<{ items: Source[] }>(node.fetch('/api/sources'));
  expect(await json<Source>(node.fetch(`/api/sources/${id}`))).toEqual(listed.items[0]);
  await node.fetchAsOwner(`/manage/sources/${id}`, { method: 'DELETE' });
  expect((await json<Source>(node.fetch(`/api/sources/${id}`))).id).toBe(id);
  expect((await node.fetch(`/api/sources/${id.toUpperCase()}`)).status).toBe(404);
});

async function json<Body>(response: Promise<Response>): Promise<Body> {
  return (await (await response).json()) as Body;
}
