import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { audit, fileOf } from '../fixity/support.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manualClock.ts';
import { page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { AlertingNode, closeAll, dataOf } from './support.ts';
import { WebhookReceiver } from './webhookReceiver.ts';

afterEach(closeAll);

const titlesAt = (receiver: WebhookReceiver) =>
  receiver.calls.flatMap((call) => dataOf(call).alerts.map(({ title }) => title));

test('what a rule is about only after a change is reported from then on, and not from the past', async () => {
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open();
  const { node } = alerting;
  const web = await ScriptedWeb.open();
  web.script('/fees', page('1'), page('2'), page('3'));
  web.script('/down', page('no', { status: 500 }));
  await alerting.watch(web.url('/fees'), { name: 'Fees' });
  await alerting.watch(web.url('/down'), { name: 'Down' });
  const { id } = await alerting.alert({ peer_rewritten: true }, [receiver.target]);
  await uploadNewPack(node, {}, { '1.txt': 'first', '2.txt': 'second' });
  await rm(fileOf(node.dataFolder, sha256Of('first')));
  await audit(node);
  await alerting.check();
  await alerting.check();
  const when = { event_types: ['first_seen', 'changed'], failures: true, damaged: true, drift: true };
  expect((await node.sendJson('PATCH', `/manage/alerts/${id}`, { when })).status).toBe(200);
  await alerting.check();
  await rm(fileOf(node.dataFolder, sha256Of('second')));
  await audit(node);
  await eventually(() =>
    expect(titlesAt(receiver).sort()).toEqual(['A stored object is missing', 'Fees has changed']),
  );
  expect(dataOf(receiver.calls.at(-1)).alerts[0]?.text).not.toContain(sha256Of('first'));
  expect((await alerting.deliveries()).length).toBe(2);
});

test('what waits is kept when its rule is changed, and dropped when it is removed', async () => {
  const clock = new ManualClock();
  const receiver = await WebhookReceiver.open(503);
  const alerting = await AlertingNode.open({ clock });
  const web = await ScriptedWeb.open();
  web.script('/fees', page('1'), page('2'));
  await alerting.watch(web.url('/fees'), { name: 'Fees' });
  const kept = await alerting.alert({}, [receiver.target]);
  const removed = await alerting.alert({}, [receiver.target]);
  const tried = async (...attempts: number[]) =>
    eventually(async () =>
      expect((await alerting.deliveries()).map((delivery) => delivery.attempts)).toEqual(attempts),
    );
  await alerting.check();
  await tried(1, 1);
  const change = { name: 'Other', when: { tags: ['none'] }, every: 'daily' };
  await alerting.node.sendJson('PATCH', `/manage/alerts/${kept.id}`, change);
  await alerting.node.fetchAsOwner(`/manage/alerts/${removed.id}`, { method: 'DELETE' });
  receiver.answers = [204];
  await clock.jump(10_000);
  const [delivery] = await alerting.untilDelivered('sent');
  expect(delivery?.alert).toEqual({ id: kept.id, name: 'Rule' });
  expect(receiver.calls).toHaveLength(3);
});

test('a message that cannot be prepared is tried again after a pause, and says so', async () => {
  const clock = new ManualClock();
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open({ clock });
  const web = await ScriptedWeb.open();
  web.script('/fees', page('1'));
  await alerting.watch(web.url('/fees'));
  const alert = await alerting.alert({}, [receiver.target]);
  await writeFile(join(alerting.node.dataFolder, 'alert-secrets'), '{"webhooks":');
  await alerting.check();
  await eventually(async () =>
    expect((await alerting.deliveries())[0]).toMatchObject({
      state: 'waiting',
      attempts: 1,
      error: 'The node could not prepare the message. See its log for the reason.',
    }),
  );
  await rm(join(alerting.node.dataFolder, 'alert-secrets'));
  await alerting.node.sendJson('PATCH', `/manage/alerts/${alert.id}`, { to: [receiver.target] });
  await clock.jump(60_000);
  await alerting.untilDelivered('sent');
});
