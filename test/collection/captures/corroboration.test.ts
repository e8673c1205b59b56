import { afterEach, beforeEach, expect, test } from 'vitest';
import type { EventDetails } from '../../../shared/collection/event.ts';
import type { ObjectMetadata } from '../../../shared/collection/retrieval.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { response, sha256 } from '../../support/warcFiles.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { imported } from './support.ts';

let node: CollectingNode;

beforeEach(async () => {
  node = await openCollectingNode();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const metadata = () => node.read<ObjectMetadata>(`/archive/${sha256('same')}/metadata`);
const event = (id: number) => node.read<EventDetails>(`/api/events/${id}`);

test('an object that two observers hold from one address is corroborated, with the names of both', async () => {
  const web = await ScriptedWeb.open();
  web.script('/page', page('same'));
  await node.watch(web.url('/page'));
  await node.check();
  expect(await metadata()).toMatchObject({ observers: ['self'], corroborated: false });
  expect((await event(1)).corroborated_by).toEqual([]);
  await imported(node, response('same', { uri: web.url('/page') }));
  await imported(node, response('same', { uri: web.url('/page') }), { observer: 'Another' });
  expect(await metadata()).toMatchObject({ observers: ['Another', 'Archive', 'self'], corroborated: true });
  expect((await event(1)).corroborated_by).toEqual(['Another', 'Archive']);
  expect((await event(2)).corroborated_by).toEqual(['Another', 'self']);
});

test('the same bytes from two addresses are not corroborated', async () => {
  await imported(node, response('same', { uri: 'http://example.com/a' }));
  await imported(node, response('same', { uri: 'http://example.com/b' }), { observer: 'Another' });
  expect(await metadata()).toMatchObject({ observers: ['Another', 'Archive'], corroborated: false });
  expect((await event(1)).corroborated_by).toEqual([]);
});

test('an object that one observer captured twice is not corroborated', async () => {
  await imported(node, response('same'));
  await imported(node, response('same', { date: '2020-04-01T00:00:00Z' }));
  expect(await metadata()).toMatchObject({ observers: ['Archive'], corroborated: false });
});
