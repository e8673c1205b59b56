import { createHash } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { checkObjects } from '../../server/collection/diff/compare.ts';
import { firstNumber } from '../../server/collection/noise/conditions.ts';
import { databaseFile } from '../../server/store/files.ts';
import { openForReading } from '../../server/store/sqlite/engine/open.ts';
import { count } from '../../server/store/sqlite/engine/queries.ts';
import { EVERYTHING } from '../../shared/collection/noise.ts';
import type { ProblemDocument } from '../../shared/problems.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manualClock.ts';
import { page, ScriptedWeb, stall } from '../support/network/scriptedWeb.ts';
import { DERIVING } from '../support/node.ts';
import { AlertingNode, closeAll, dataOf } from './support.ts';
import { WebhookReceiver } from './webhookReceiver.ts';

afterEach(closeAll);

/** In larger steps, the time of a second fetch would be over on a busy machine before it has sent its request. */
const STEP_MS = 1_000;
const HTML = { headers: { 'Content-Type': 'text/html; charset=utf-8' } };
const fee = (text: string, news: string) => page(`<p id="fee">${text}</p><p>${news} 99</p>`, HTML);

function sentTo(receiver: WebhookReceiver) {
  return receiver.calls.flatMap((call) => dataOf(call).alerts);
}

test('rules alert of the watched part only, by its number, a pattern and words, and say when it is gone', async () => {
  const alerting = await AlertingNode.open(DERIVING);
  const web = await ScriptedWeb.open();
  const versions = [
    ['Fee € 1,250.50 open', 'one'],
    ['Fee € 1,250.50 open', 'two'],
    ['Fee € 1,300 open', 'two'],
    ['Fee € 1,300 closed', 'two'],
    ['Fee € 1,100 closed', 'closed'],
  ] as const;
  web.script('/fee', ...versions.map(([text, news]) => fee(text, news)), page('<p>gone', HTML));
  await alerting.watch(web.url('/fee'), { name: 'Fee', watch: { css: '#fee' } });
  // The number of the version that brings each alert, from 0.
  const cases: Record<string, [when: object, versions: number[]]> = {
    any: [{}, [0, 2, 3, 4, 5]],
    outside: [{ labels: ['outside'] }, [1]],
    above: [{ number: { above: 1_280 } }, [2]],
    between: [{ number: { above: 1_000, below: 1_280 } }, [0, 4]],
    changedBy: [{ number: { changed_by: 100 } }, [4]],
    pattern: [{ pattern: '1,[0-9]00 (open|closed)' }, [2, 3, 4]],
    appears: [{ appears: ['CLÓSED'] }, [3]],
    disappears: [{ disappears: ['open', 'one'] }, [3]],
    both: [{ number: { below: 1_280 }, appears: ['closed'] }, []],
    words: [{ words: ['one', 'closed'] }, [3, 5]],
    lost: [{ watch_lost: true }, [5]],
  };
  const receivers = new Map<string, WebhookReceiver>();
  for (const [name, [when]] of Object.entries(cases)) {
    const receiver = await WebhookReceiver.open();
    receivers.set(name, receiver);
    await alerting.alert(when, [receiver.target], { name });
  }
  const expected = (until: number) =>
    Object.fromEntries(
      Object.entries(cases).map(([name, [, found]]) => [
        name,
        found.filter((version) => version <= until).length,
      ]),
    );
  for (let version = 0; version < 6; version += 1) {
    await alerting.check();
    await eventually(() =>
      expect(Object.fromEntries([...receivers].map(([name, each]) => [name, sentTo(each).length]))).toEqual(
        expected(version),
      ),
    );
  }
  const [lost] = sentTo(receivers.get('lost') as WebhookReceiver);
  expect(lost).toMatchObject({ kind: 'watch_lost', title: 'The watched part of Fee is gone' });
});

describe('a change that is to be confirmed', () => {
  async function opened(...versions: string[]) {
    const clock = new ManualClock();
    const receiver = await WebhookReceiver.open();
    const alerting = await AlertingNode.open({ clock });
    const web = await ScriptedWeb.open();
    web.script('/fee', ...versions.map((text) => fee(text, 'news')));
    const source = await alerting.watch(web.url('/fee'), { name: 'Fee', watch: { css: '#fee' } });
    await alerting.check();
    return { clock, receiver, alerting, web, source };
  }

  test('alerts if a second fetch after 30 seconds still shows it, also after a restart', async () => {
    const { clock, receiver, alerting, web } = await opened('100', '40', '40');
    await alerting.alert({ number: { below: 50 }, confirm: true }, [receiver.target]);
    await alerting.check();
    await clock.sleeperOf(30_000);
    await clock.jump(29_000);
    expect(web.requests('/fee')).toHaveLength(2);
    await alerting.node.close();
    const again = await AlertingNode.reopen({ clock, dataFolder: alerting.node.dataFolder });
    await clock.sleeperOf(1_000);
    await clock.jump(1_000);
    await again.untilDelivered('sent');
    expect(web.requests('/fee')).toHaveLength(3);
    expect(sentTo(receiver)).toMatchObject([{ kind: 'event', title: 'Fee has changed' }]);
  });

  test('is fetched a second time while a round waits for another host', async () => {
    const { clock, receiver, alerting, web, source } = await opened('100', '40', '40');
    web.script('/slow', stall);
    const slow = await alerting.watch(web.url('/slow', 'localhost'), { name: 'Slow' });
    await alerting.alert({ number: { below: 50 }, confirm: true }, [receiver.target]);
    await alerting.check([source.id]);
    await clock.sleeperOf(30_000);
    await alerting.node.sendJson('POST', '/manage/collections', { sources: [slow.id] });
    await web.asked('/slow');
    await clock.jump(30_000);
    await alerting.untilDelivered('sent');
    expect(web.requests('/fee')).toHaveLength(3);
    expect(web.requests('/slow')).toHaveLength(1);
  });

  test('does not alert if it was undone, nor about that, and alerts once about another that matches too', async () => {
    const { clock, receiver, alerting, web, source } = await opened('100', '40', '100', '41', '42');
    await alerting.alert({ number: { changed_by: 50 }, confirm: true }, [receiver.target]);
    const database = openForReading(databaseFile(alerting.node.dataFolder));
    const turn = async (requests: number) => {
      await alerting.check([source.id]);
      await eventually(async () => {
        await clock.jump(STEP_MS);
        expect(web.requests('/fee')).toHaveLength(requests);
      });
      // Both changes of a turn are judged by its second fetch. That of the second one may wait for its time by then.
      await eventually(() => expect(count(database, 'alert_notices')).toBe(requests - 1));
      await eventually(async () => {
        await clock.jump(STEP_MS);
        expect(count(database, 'alert_confirmations')).toBe(0);
      });
    };
    await turn(3);
    await turn(5);
    await alerting.untilDelivered('sent');
    // The change by the second fetch, which is taken into account already, has its turn too.
    await clock.jump(30_000);
    const events = await alerting.events('event_type=changed');
    const [delivery] = await alerting.untilDelivered('sent');
    expect(delivery?.events).toEqual([events[1]?.id]);
    expect(web.requests('/fee')).toHaveLength(5);
    database.close();
  });
});

test('a change of certain words is judged again if a third version came meanwhile', async () => {
  const clock = new ManualClock();
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open({ clock });
  const web = await ScriptedWeb.open();
  const versions = ['costs 10', 'is free', 'costs 12', 'is free', 'is free of charge'];
  web.script('/words', ...versions.map((text) => page(`<p>It ${text}.</p>`)));
  await alerting.watch(web.url('/words'), { name: 'Words' });
  await alerting.check();
  await alerting.alert({ words: ['free'], confirm: true }, [receiver.target]);
  const database = openForReading(databaseFile(alerting.node.dataFolder));
  const turn = async (requests: number) => {
    await alerting.check();
    await eventually(async () => {
      await clock.jump(STEP_MS);
      expect(web.requests('/words')).toHaveLength(requests);
    });
    // Both changes of a turn are judged by its second fetch. Not before is the next one made.
    await eventually(() => expect(count(database, 'alert_notices')).toBe(requests - 1));
    await eventually(async () => {
      await clock.jump(STEP_MS);
      expect(count(database, 'alert_confirmations')).toBe(0);
    });
  };
  await turn(3);
  await turn(5);
  database.close();
  const [delivery] = await alerting.untilDelivered('sent');
  const events = (await alerting.events('event_type=changed')).reverse();
  expect(delivery?.events).toEqual([events[2]?.id]);
});

test('a change of bytes that changed again when they were fetched a second time stands', async () => {
  const clock = new ManualClock();
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open({ clock });
  const web = await ScriptedWeb.open();
  const bytes = { headers: { 'Content-Type': 'application/octet-stream' } };
  web.script('/bytes', page('\x00one', bytes), page('\x00two', bytes), page('\x00three', bytes));
  await alerting.watch(web.url('/bytes'), { name: 'Bytes' });
  await alerting.check();
  await alerting.alert({ event_types: ['changed'], confirm: true }, [receiver.target]);
  await alerting.check();
  await clock.sleeperOf(30_000);
  await clock.jump(30_000);
  await alerting.untilDelivered('sent');
  expect(sentTo(receiver)).toMatchObject([{ title: 'Bytes has changed' }]);
});

test.each<[object, string]>([
  [{ number: {} }, '/when/number'],
  [{ number: { above: 2, below: 1 } }, '/when/number/below'],
  [{ pattern: '(' }, '/when/pattern'],
  [{ appears: ['…'] }, '/when/appears/0'],
])('the condition %j is refused', async (when, path) => {
  const { node } = await AlertingNode.open();
  const to = [{ kind: 'desktop' }];
  const answer = await node.sendJson('POST', '/manage/alerts', { name: 'Rule', when, to });
  expect(answer.status).toBe(422);
  expect(((await answer.json()) as ProblemDocument).errors?.[0]?.path).toBe(path);
});

test('no number is read from the address of a link', async () => {
  const object = (html: string) => {
    const bytes = Buffer.from(html);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    return { sha256, file: '', bytes, contentType: 'text/html', contentEncoding: null };
  };
  const meets = (newer: string, above: number) =>
    checkObjects({
      task: 'conditions',
      from: object('<a href="/buy/99">50 euros</a>'),
      to: object(newer),
      isFirst: false,
      scope: EVERYTHING,
      conditions: { number: { above } },
    });
  expect(await meets('<a href="/buy/123">Sold out</a>', 40)).toBe(false);
  expect(await meets('<a href="/buy/123">60 euros</a>', 40)).toBe(true);
  expect(await meets('<a href="/buy/123">60 euros</a>', 60)).toBe(false);
});

test.each<[string, number | undefined]>([
  ['CO2 today: 412 ppm', 412],
  ['from 1,234.56 to 9', 1_234.56],
  ['1.234.567,89 €', 1_234_567.89],
  ['1.234.567', 1_234_567],
  ['5,000 people', 5_000],
  ['0,125 %', 0.125],
  ['12,5', 12.5],
  ['3.125', 3.125],
  ["10'500 CHF", 10_500],
  ['1 234 567,5', 1_234_567.5],
  ['−4 °C', -4],
  ['balance -$1,200.50', -1_200.5],
  ['none', undefined],
])('the first number of “%s” is %s', (text, number) => {
  expect(firstNumber(text)).toBe(number);
});
