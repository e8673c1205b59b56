import { rm } from 'node:fs/promises';
import { afterEach, expect, test } from 'vitest';
import { openCollectingNode } from '../collection/support.ts';
import { audit, damages, fileOf, overwrite } from '../fixity/support.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { LyingPeer } from '../support/network/lyingPeer.ts';
import { closePeerFronts } from '../support/network/peerFront.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { addPeer, expectVerified, mirror } from './support.ts';

afterEach(async () => {
  closePeerFronts();
  await closeTestNodes();
  await closeScriptedWebs();
});

const PACKED = 'a file of a pack';
const SEEN = 'what a page was';

/** A node that mirrored a file and a page, of which one was damaged and the other lost since. */
async function damagedMirror(): Promise<{ node: TestNode; front: LyingPeer }> {
  const web = await ScriptedWeb.open();
  web.script('/a', page(SEEN));
  const peer = await openCollectingNode();
  await uploadNewPack(peer.node, {}, { 'a.txt': PACKED });
  await peer.watch(web.url('/a'));
  await peer.check();
  const front = await LyingPeer.open(peer.node.url);
  const node = await openTestNode();
  await mirror(node, await addPeer(node, front.url), { packs: true, sources: true });
  await overwrite(node.dataFolder, sha256Of(PACKED), 'something else');
  await rm(fileOf(node.dataFolder, sha256Of(SEEN)));
  return { node, front };
}

const both = [sha256Of(PACKED), sha256Of(SEEN)].sort();
const types = async (node: TestNode) =>
  ((await (await node.fetch('/api/ledger?limit=500')).json()) as { items: { type: string }[] }).items
    .map(({ type }) => type)
    .filter((type) => type.startsWith('object.'));

test('damaged and missing objects are fetched from a peer on request, verified and recorded', async () => {
  const { node, front } = await damagedMirror();
  expect(await audit(node)).toMatchObject({ damaged_objects: 2, restored: [] });
  front.lie(/^\/(api\/blobs|archive)\//, () => Buffer.from('lies'));
  const repair = async () =>
    (await (await node.fetchAsOwner('/manage/repairs?wait=true', { method: 'POST' })).json()) as object;
  expect(await repair()).toEqual({ restored: [], missing: both });
  expect(await types(node)).toEqual(['object.damaged', 'object.damaged']);
  front.tellTheTruth();
  expect(await repair()).toEqual({ restored: both, missing: [] });
  expect(await types(node)).toEqual([
    ...Array(2).fill('object.damaged'),
    ...Array(2).fill('object.restored'),
  ]);
  expect(await (await node.fetch(`/api/blobs/${sha256Of(PACKED)}`)).text()).toBe(PACKED);
  expect(await (await node.fetch(`/archive/${sha256Of(SEEN)}`)).text()).toBe(SEEN);
  await expectVerified(node);
});

test('with the setting, an audit repairs what it finds', async () => {
  const { node } = await damagedMirror();
  expect((await node.sendJson('PATCH', '/manage/settings', { repair_from_peers: true })).status).toBe(200);
  expect(await audit(node)).toMatchObject({ damaged_objects: 2, restored_objects: 2, restored: both });
  expect((await damages(node)).every(({ restored_entry }) => restored_entry !== null)).toBe(true);
  expect(await audit(node)).toMatchObject({ damaged_objects: 0 });
});
