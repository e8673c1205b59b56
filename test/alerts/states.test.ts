import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { audit, fileOf, overwrite } from '../fixity/support.ts';
import { addPeer } from '../peers/support.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manualClock.ts';
import { LyingPeer } from '../support/network/lyingPeer.ts';
import { closePeerFronts } from '../support/network/peerFront.ts';
import { page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { openTestNode, temporaryFolder } from '../support/node.ts';
import { AlertingNode, closeAll, dataOf } from './support.ts';
import { WebhookReceiver } from './webhookReceiver.ts';

afterEach(async () => {
  closePeerFronts();
  await closeAll();
});

/**
 * Waits until this many things were sent to a webhook, and returns them in order. The node has the answers too, so a
 * clock that is advanced now times out no request.
 */
async function sentTo(alerting: AlertingNode, receiver: WebhookReceiver, count: number) {
  const sent = () => receiver.calls.flatMap((call) => dataOf(call).alerts);
  await eventually(async () => {
    expect(sent()).toHaveLength(count);
    expect((await alerting.deliveries()).filter(({ state }) => state !== 'sent')).toEqual([]);
  });
  return sent();
}

test('damaged, missing and unreadable objects are reported once each, in their words', async () => {
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open();
  const { node } = alerting;
  await uploadNewPack(node, { title: 'Old damage' }, { '0.txt': 'zeroth' });
  await overwrite(node.dataFolder, sha256Of('zeroth'), 'harmed');
  await audit(node);
  await alerting.alert({ damaged: true }, [receiver.target]);
  await uploadNewPack(node, {}, { '1.txt': 'first', '2.txt': 'second', '3.txt': 'third' });
  await overwrite(node.dataFolder, sha256Of('first'), 'fixed');
  await audit(node);
  const [changed] = await sentTo(alerting, receiver, 1);
  expect(changed).toMatchObject({ kind: 'damage', title: 'A stored object is damaged', event: null });
  expect(changed?.text).toContain(sha256Of('first'));
  await rm(fileOf(node.dataFolder, sha256Of('second')));
  await rm(fileOf(node.dataFolder, sha256Of('third')));
  await mkdir(fileOf(node.dataFolder, sha256Of('third')));
  await audit(node);
  const others = (await sentTo(alerting, receiver, 3)).slice(1);
  expect(others.map(({ title }) => title).sort()).toEqual([
    'A stored object cannot be read',
    'A stored object is missing',
  ]);
  await audit(node);
  await alerting.untilDelivered('sent', 'sent', 'sent');
});

test('more damages than are looked at together are all reported', async () => {
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open();
  const contents = Array.from({ length: 503 }, (_, number) => `object ${number}`);
  await uploadNewPack(alerting.node, {}, Object.fromEntries(contents.map((text) => [`${text}.txt`, text])));
  await alerting.alert({ damaged: true }, [receiver.target]);
  for (const text of contents) await rm(fileOf(alerting.node.dataFolder, sha256Of(text)));
  await audit(alerting.node);
  const reported = () => receiver.calls.map((call) => dataOf(call).alerts.length + dataOf(call).more);
  await eventually(() => expect(reported().reduce((sum, count) => sum + count, 0)).toBe(contents.length));
});

test('a peer that rewrote its ledger is reported once', async () => {
  const original = await openTestNode();
  await uploadNewPack(original, { title: 'Before' });
  await original.close();
  const copy = join(await temporaryFolder(), 'data');
  await cp(original.dataFolder, copy, { recursive: true });
  const first = await openTestNode({ dataFolder: original.dataFolder });
  const front = await LyingPeer.open(first.url);
  await uploadNewPack(first, { title: 'As it was' });
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open();
  const peer = await addPeer(alerting.node, front.url);
  await alerting.alert({ peer_rewritten: true }, [receiver.target]);
  await first.close();
  const second = await openTestNode({ dataFolder: copy });
  await uploadNewPack(second, { title: 'A new version' });
  front.showInstead(second.url);
  for (let time = 0; time < 2; time += 1)
    await alerting.node.fetchAsOwner(`/manage/peers/${peer.id}/contact`, { method: 'POST' });
  const [alert] = await sentTo(alerting, receiver, 1);
  expect(alert).toMatchObject({
    kind: 'peer_rewritten',
    title: `The peer ${peer.name} rewrote its ledger`,
    link: `${alerting.node.url}/sharing`,
  });
  await alerting.untilDelivered('sent');
});

test('a disk that is nearly full is reported, and another kind of lack separately', async () => {
  const clock = new ManualClock();
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open({ clock });
  await alerting.alert({ disk: true }, [receiver.target]);
  await alerting.set({ min_free_disk_gb: 1_000_000 });
  await clock.sleeperOf(60_000);
  await clock.jump(60_000);
  expect((await sentTo(alerting, receiver, 1))[0]).toMatchObject({
    kind: 'disk',
    title: 'The disk is nearly full',
  });
  await alerting.set({ data_cap_gb: 0 });
  await clock.sleeperOf(60_000);
  await clock.jump(60_000);
  expect((await sentTo(alerting, receiver, 2))[1]?.title).toBe('The archive is full');
});

test('drift of a source that a pack relates to is reported for each turn of events', async () => {
  const [receiver, elsewhere] = [await WebhookReceiver.open(), await WebhookReceiver.open()];
  const alerting = await AlertingNode.open({}, { unavailable_after_failures: 1 });
  const web = await ScriptedWeb.open();
  web.script('/prices', page('120'), page('145'), page('no', { status: 500 }), page('120'), page('130'));
  const { id } = await alerting.watch(web.url('/prices'), { name: 'Prices' });
  await alerting.check();
  const pack = await uploadNewPack(alerting.node, {
    related: [{ relation: 'References', identifier: web.url('/prices') }],
  });
  await alerting.alert({ drift: true, sources: [id] }, [receiver.target]);
  await alerting.alert({ drift: true, tags: ['other'] }, [elsewhere.target]);
  const endings = ['has changed', 'has disappeared', 'is back to its earlier state', 'has changed'];
  for (const [index, words] of endings.entries()) {
    await alerting.check();
    const last = (await sentTo(alerting, receiver, index + 1)).at(-1);
    expect(last?.title).toBe(`Prices, a related work of a pack, ${words}`);
    expect(last).toMatchObject({ kind: 'drift', link: `${alerting.node.url}/packs/${pack.id}` });
  }
  const [changed] = await sentTo(alerting, receiver, endings.length);
  expect(changed?.diff).toEqual(['− 120', '+ 145']);
  expect(elsewhere.calls).toEqual([]);
});

test('drift of a file is reported when its pack is replaced', async () => {
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open();
  const { node } = alerting;
  const cited = await uploadNewPack(node, { title: 'Cited' }, { 'data.csv': 'a,b\n1,2\n' });
  await uploadNewPack(node, {
    title: 'Citing',
    related: [{ relation: 'IsDerivedFrom', identifier: `sha256:${sha256Of('a,b\n1,2\n')}` }],
  });
  await alerting.alert({ drift: true }, [receiver.target]);
  await uploadNewPack(node, { title: 'Cited, mended', supersedes: cited.id }, { 'data.csv': 'a,b\n1,3\n' });
  const [alert] = await sentTo(alerting, receiver, 1);
  expect(alert?.title).toBe('data.csv, a related work of a pack, has changed');
  await alerting.untilDelivered('sent');
});

test('a copy that falls behind is reported once, with why, and again after it had caught up', async () => {
  const clock = new ManualClock();
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open({ clock });
  const { node } = alerting;
  const folder = `${node.dataFolder}-copy`;
  const added = await node.sendJson('POST', '/manage/copies', { target: `file://${folder}` });
  const { id } = (await added.json()) as { id: string };
  const sync = () => node.sendJson('POST', `/manage/copies/${id}/sync?wait=true`, {});
  const turn = async (ms: number) => {
    await clock.sleeperOf(60_000);
    await clock.jump(ms);
  };
  await uploadNewPack(node, { title: 'First' });
  await alerting.alert({ copy_behind: true }, [receiver.target]);
  await turn(2 * 3_600_000);
  expect((await sentTo(alerting, receiver, 1))[0]).toMatchObject({
    kind: 'copy_behind',
    title: `The copy in file://${folder} is out of date`,
    link: `${node.url}/settings#copies`,
  });
  expect((await sync()).status).toBe(200);
  await turn(60_000);
  await uploadNewPack(node, { title: 'Second' });
  await turn(2 * 3_600_000);
  await sentTo(alerting, receiver, 2);
  await turn(2 * 3_600_000);
  await alerting.untilDelivered('sent', 'sent');
});

test('withheld objects that no copy has are reported until there is a copy without pages', async () => {
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open();
  const { node } = alerting;
  await uploadNewPack(node, { title: 'Secret' }, { 'a.txt': 'quibblesome' });
  const withheld = { sha256: sha256Of('quibblesome'), reason: 'personal_data' };
  expect((await node.sendJson('POST', '/manage/withheld', withheld)).status).toBe(201);
  const target = `file://${node.dataFolder}-copy`;
  const added = await node.sendJson('POST', '/manage/copies', { target, pages: true });
  const { id } = (await added.json()) as { id: string };
  expect((await node.sendJson('POST', `/manage/copies/${id}/sync?wait=true`, {})).status).toBe(200);
  await alerting.alert({ copy_behind: true }, [receiver.target]);
  expect((await sentTo(alerting, receiver, 1))[0]).toMatchObject({
    kind: 'copy_behind',
    text: '1 withheld object is in no copy: add one without pages.',
    link: `${node.url}/settings#copies`,
  });
});
