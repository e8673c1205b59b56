import { afterEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manualClock.ts';
import { page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { AlertingNode, closeAll, dataOf } from './support.ts';
import { isSigned, WebhookReceiver } from './webhookReceiver.ts';

afterEach(closeAll);

const HOUR = 3_600_000;
const FEES = [page('<p>The fee is 120 euros.</p>'), page('<p>The fee is 145 euros.</p>')] as const;

/** A node with a source that has been seen once and changes with the next check, and a rule for a webhook. */
async function nodeBeforeChange(
  receiver: WebhookReceiver,
  config: Parameters<typeof AlertingNode.open>[0] = {},
  settings: object = {},
) {
  const web = await ScriptedWeb.open();
  web.script('/fees', ...FEES);
  const alerting = await AlertingNode.open(config, settings);
  const source = await alerting.watch(web.url('/fees'), { name: 'Fees' });
  await alerting.check();
  const alert = await alerting.alert({ event_types: ['changed'] }, [receiver.target]);
  return { alerting, source, alert };
}

test('a change is sent in words with the first lines of the diff and a link, signed as Standard Webhooks says', async () => {
  const receiver = await WebhookReceiver.open();
  const { alerting, source, alert } = await nodeBeforeChange(receiver);
  await alerting.check();
  const [delivery] = await alerting.untilDelivered('sent');
  expect(receiver.calls).toHaveLength(1);
  const [call] = receiver.calls;
  expect(call && isSigned(call)).toBe(true);
  expect(call?.id).toBe(delivery?.id);
  expect(call?.contentType).toBe('application/json');
  const data = dataOf(call);
  expect(data.rule).toEqual({ id: alert.id, name: 'Rule' });
  const event = (await alerting.events('event_type=changed'))[0];
  expect(data.alerts).toEqual([
    {
      kind: 'event',
      at: event?.observed_at,
      title: 'Fees has changed',
      text: `${source.url} has changed (${event?.observed_at}). 120 → 145 euros.`,
      diff: ['− The fee is 120 euros.', '+ The fee is 145 euros.'],
      link: `${alerting.node.url}/timeline/${event?.id}`,
      event: event?.id,
      source: { id: source.id, url: source.url, name: 'Fees' },
    },
  ]);
  expect(delivery).toMatchObject({
    events: [event?.id],
    count: 1,
    attempts: 1,
    title: 'Fees has changed',
    error: null,
  });
});

test('links begin with the public address where there is one', async () => {
  const receiver = await WebhookReceiver.open();
  const { alerting } = await nodeBeforeChange(receiver, { publicUrl: 'https://archive.example' });
  await alerting.check();
  await alerting.untilDelivered('sent');
  expect(dataOf(receiver.calls[0]).alerts[0]?.link).toMatch(/^https:\/\/archive\.example\/timeline\/\d+$/);
});

test('a receiver that answers 500 is tried again with growing pauses for a day, with the same id and body, then failed', async () => {
  const clock = new ManualClock();
  const receiver = await WebhookReceiver.open(500);
  const { alerting } = await nodeBeforeChange(receiver, { clock });
  await alerting.check();
  const pauses: number[] = [];
  const begun = clock.now();
  for (let attempt = 1; ; attempt += 1) {
    const delivery = await eventually(async () => {
      const [found] = await alerting.deliveries();
      expect(found?.attempts).toBe(attempt);
      return found;
    });
    if (delivery?.state === 'failed') break;
    expect(delivery).toMatchObject({ state: 'waiting', error: 'The receiver answered 500.' });
    pauses.push(Date.parse(delivery?.next_attempt_at ?? '') - clock.now());
    await clock.jump(pauses.at(-1) ?? 0);
  }
  expect(clock.now() - begun).toBe(24 * HOUR);
  expect(pauses.slice(0, -1)).toEqual(pauses.slice(0, -1).toSorted((left, right) => left - right));
  expect(receiver.calls.length).toBe(pauses.length + 1);
  expect(new Set(receiver.calls.map(({ id }) => id)).size).toBe(1);
  expect(new Set(receiver.calls.map(({ body }) => body)).size).toBe(1);
  expect(receiver.calls.every((call) => isSigned(call))).toBe(true);
  expect((await alerting.deliveries('state=failed')).length).toBe(1);
});

test('a failed delivery is sent again on request, and no other', async () => {
  const receiver = await WebhookReceiver.open(410, 204);
  const { alerting } = await nodeBeforeChange(receiver);
  await alerting.check();
  const [failed] = await alerting.untilDelivered('failed');
  expect(failed?.error).toContain('410');
  const retry = () => alerting.node.sendJson('POST', `/manage/alerts/deliveries/${failed?.id}/retry`, {});
  expect((await retry()).status).toBe(200);
  await alerting.untilDelivered('sent');
  expect(new Set(receiver.calls.map(({ id }) => id)).size).toBe(1);
  expect((await retry()).status).toBe(409);
});

test('a receiver that was down for most of a day gets what it missed, also over a restart', async () => {
  const clock = new ManualClock();
  const receiver = await WebhookReceiver.open(503);
  const { alerting } = await nodeBeforeChange(receiver, { clock });
  await alerting.check();
  await eventually(async () => expect((await alerting.deliveries())[0]?.attempts).toBe(1));
  await clock.jump(2 * HOUR);
  await eventually(async () => expect((await alerting.deliveries())[0]?.attempts).toBe(2));
  await alerting.node.close();
  await clock.jump(20 * HOUR);
  receiver.answers = [204];
  const again = await AlertingNode.reopen({ dataFolder: alerting.node.dataFolder, clock });
  await again.untilDelivered('sent');
  expect(new Set(receiver.calls.map(({ id }) => id)).size).toBe(1);
  await again.check();
  expect(receiver.calls).toHaveLength(3);
});

test('a receiver that does not answer in time is tried again', async () => {
  const receiver = await WebhookReceiver.open(() => {}, 204);
  const clock = new ManualClock();
  const { alerting } = await nodeBeforeChange(receiver, { clock }, { request_timeout_seconds: 3 });
  await alerting.check();
  await eventually(() => expect(receiver.calls).toHaveLength(1));
  await clock.sleeperOf(3_000);
  await clock.jump(3_000);
  await eventually(async () =>
    expect((await alerting.deliveries())[0]).toMatchObject({
      state: 'waiting',
      error: 'No response in time.',
    }),
  );
  await clock.jump(5_000);
  await alerting.untilDelivered('sent');
});

test('a redirect is not followed, wherever it leads', async () => {
  const other = await WebhookReceiver.open();
  const receiver = await WebhookReceiver.open((response) =>
    response.writeHead(307, { Location: other.url }).end(),
  );
  const { alerting } = await nodeBeforeChange(receiver);
  await alerting.check();
  await eventually(async () =>
    expect((await alerting.deliveries())[0]).toMatchObject({
      state: 'waiting',
      error: 'The receiver answered 307. Redirects are not followed.',
    }),
  );
  expect(other.calls).toEqual([]);
});

test('a public name that later leads to a private address is not connected to', async () => {
  const receiver = await WebhookReceiver.open();
  let address = '93.184.216.34';
  const lookup = async () => [{ address, family: 4 }];
  const alerting = await AlertingNode.open({ network: { lookup } });
  const url = `http://hooks.example.org:${new URL(receiver.url).port}/hook`;
  const alert = await alerting.alert({}, [{ kind: 'webhook', url }]);
  address = '127.0.0.1';
  expect(await alerting.sendTest(alert.id)).toMatchObject([
    { state: 'failed', test: true, error: 'Its public name leads to a private address.' },
  ]);
  expect(receiver.calls).toEqual([]);
});

test('an answer without end is cut off and does not count as received', async () => {
  const receiver = await WebhookReceiver.open((response) => {
    response.writeHead(200);
    const write = () => {
      while (response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', write);
    write();
  });
  const alerting = await AlertingNode.open();
  const alert = await alerting.alert({}, [receiver.target]);
  expect(await alerting.sendTest(alert.id)).toMatchObject([
    { state: 'failed', error: 'Its answer is too large.' },
  ]);
});

test('one slow receiver does not hold up another', async () => {
  const slow = await WebhookReceiver.open(() => {});
  const receiver = await WebhookReceiver.open();
  const { alerting } = await nodeBeforeChange(receiver);
  await alerting.alert({ event_types: ['changed'] }, [slow.target]);
  await alerting.check();
  await eventually(() => expect(slow.calls).toHaveLength(1));
  await eventually(() => expect(receiver.calls).toHaveLength(1));
});
