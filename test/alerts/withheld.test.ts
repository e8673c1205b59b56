import { afterEach, expect, test } from 'vitest';
import { addFinding } from '../findings/support.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manualClock.ts';
import { page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { bodyOf, MailServer } from './mailServer.ts';
import { AlertingNode, closeAll, dataOf } from './support.ts';
import { WebhookReceiver } from './webhookReceiver.ts';

afterEach(closeAll);

const HOUR = 3_600_000;

/** A node whose only version of a source is withheld, with a rule for a webhook and one for mail. */
async function nodeWithSecret(receiver: WebhookReceiver, config = {}) {
  const web = await ScriptedWeb.open();
  web.script('/diary', page('<p>Quibblesome today.</p>'), page('<p>Frangipane today.</p>'));
  const alerting = await AlertingNode.open(config);
  const server = await MailServer.open();
  await alerting.set({ smtp: server.settings({}) });
  await alerting.watch(web.url('/diary'), { name: 'Diary' });
  await alerting.check();
  await alerting.alert({ event_types: ['changed'] }, [
    receiver.target,
    { kind: 'email', address: 'reader@example.org' },
  ]);
  const withhold = async () => {
    const sha256 = (await alerting.events()).at(-1)?.sha256;
    const body = { sha256, reason: 'personal_data' };
    expect((await alerting.node.sendJson('POST', '/manage/withheld', body)).status).toBe(201);
  };
  return { alerting, server, withhold };
}

test('mails and webhooks say that something changed, and no word of what is withheld', async () => {
  const receiver = await WebhookReceiver.open();
  const { alerting, server, withhold } = await nodeWithSecret(receiver);
  const sha256 = (await alerting.events()).at(-1)?.sha256 ?? '';
  await addFinding(
    alerting.node,
    { kind: 'object', id: sha256 },
    { passage: { sha256, exact: 'Quibblesome today' } },
  );
  const passages = await WebhookReceiver.open();
  await alerting.alert({ passage_changed: true }, [passages.target]);
  await withhold();
  await alerting.check();
  await alerting.untilDelivered('sent', 'sent', 'sent');
  const [passage] = dataOf(passages.calls[0]).alerts;
  expect(passage).toMatchObject({
    kind: 'passage_changed',
    title: 'A quoted passage has changed: Diary',
    passage: { before: null, after: null },
    diff: [],
  });
  expect(passages.calls[0]?.body).not.toMatch(/quibblesome|frangipane/i);
  const [item] = dataOf(receiver.calls[0]).alerts;
  expect(item).toMatchObject({ title: 'Diary has changed', diff: [] });
  expect(item?.text).toMatch(/withheld from visitors/);
  const [mail] = server.mails;
  expect(mail && bodyOf(mail)).toContain('Diary has changed');
  for (const text of [receiver.calls[0]?.body, mail && bodyOf(mail)])
    expect(text).not.toMatch(/quibblesome|frangipane/i);
});

test('a message that is tried again is composed again if something in it was withheld since', async () => {
  const clock = new ManualClock();
  const receiver = await WebhookReceiver.open(500, 204);
  const { alerting, withhold } = await nodeWithSecret(receiver, { clock });
  await alerting.check();
  await eventually(async () => {
    const waiting = (await alerting.deliveries()).find(({ to }) => to.kind === 'webhook');
    expect(waiting).toMatchObject({ state: 'waiting', attempts: 1 });
  });
  expect(receiver.calls[0]?.body).toMatch(/frangipane/i);
  await withhold();
  await clock.jump(HOUR);
  await eventually(() => expect(receiver.calls).toHaveLength(2));
  expect(receiver.calls[1]?.body).not.toMatch(/quibblesome|frangipane/i);
  expect(receiver.calls[1]?.id).toBe(receiver.calls[0]?.id);
});
