import { afterEach, expect, test } from 'vitest';
import type { PageCapture, PageList } from '../../shared/collection/page.ts';
import { addFinding } from '../findings/support.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manualClock.ts';
import { page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { AlertingNode, closeAll, dataOf } from './support.ts';
import { WebhookReceiver } from './webhookReceiver.ts';

afterEach(closeAll);

/** Waits until this many things were sent to a webhook, and returns their titles in order. */
async function titlesOf(receiver: WebhookReceiver, count: number): Promise<string[]> {
  await eventually(() => expect(receiver.calls.flatMap((call) => dataOf(call).alerts)).toHaveLength(count));
  return receiver.calls.flatMap((call) => dataOf(call).alerts.map(({ title }) => title)).sort();
}

test('rules choose by type, tag, agency, source and words, each for itself', async () => {
  const alerting = await AlertingNode.open();
  const web = await ScriptedWeb.open();
  const ids: Record<string, string> = {};
  for (const [name, fields] of Object.entries({
    A: { tags: ['tariffs', 'x'], agency: 'Ministry' },
    B: { tags: ['x'], agency: 'Office' },
  })) {
    web.script(`/${name}`, page(`<p>Old ${name} café</p>`), page(`<p>New ${name} café réduction</p>`));
    ids[name] = (await alerting.watch(web.url(`/${name}`), { name, ...fields })).id;
  }
  const cases: [string, object, string[]][] = [
    [
      'type',
      { event_types: ['first_seen'] },
      ['A was seen for the first time', 'B was seen for the first time'],
    ],
    ['tag', { event_types: ['changed'], tags: ['tariffs', 'none'] }, ['A has changed']],
    ['agency', { event_types: ['changed'], agencies: ['Office'] }, ['B has changed']],
    ['source', { event_types: ['changed'], sources: [ids.A] }, ['A has changed']],
    ['removed word', { words: ['old A'] }, ['A has changed', 'A was seen for the first time']],
    [
      'added word without accents',
      { event_types: ['changed'], words: ['REDUCT'] },
      ['A has changed', 'B has changed'],
    ],
    ['both', { event_types: ['changed'], tags: ['tariffs'], agencies: ['Office'] }, []],
    ['unchanged word', { event_types: ['changed'], words: ['cafe'] }, []],
    ['part of a word', { event_types: ['changed'], words: ['duction'] }, []],
  ];
  const receivers = new Map<string, WebhookReceiver>();
  for (const [name, when] of cases) {
    const receiver = await WebhookReceiver.open();
    receivers.set(name, receiver);
    await alerting.alert(when, [receiver.target], { name });
  }
  await alerting.check();
  await alerting.check();
  for (const [name, , titles] of cases) {
    const receiver = receivers.get(name);
    if (receiver) expect(await titlesOf(receiver, titles.length), name).toEqual(titles);
  }
  // All rules are applied in one transaction, so that those without a match had their chance.
  for (const [name, , titles] of cases) expect(receivers.get(name)?.calls.length, name).toBe(titles.length);
});

test('rules choose by the label of the version, or leave a label out', async () => {
  const alerting = await AlertingNode.open();
  const web = await ScriptedWeb.open();
  web.script('/wall', page('<title>Just a moment...</title>'));
  web.script('/plain', page('<p>A plain page</p>'));
  for (const name of ['wall', 'plain']) await alerting.watch(web.url(`/${name}`), { name });
  const cases: [string[], string[]][] = [
    [['bot_wall'], ['wall']],
    [['any'], ['wall']],
    [['none'], ['plain']],
    [
      ['none', 'bot_wall'],
      ['plain', 'wall'],
    ],
    [['none', 'error_page', 'rate_limit', 'script_shell'], ['plain']],
    [['rate_limit'], []],
  ];
  const receivers: WebhookReceiver[] = [];
  for (const [labels] of cases) {
    const receiver = await WebhookReceiver.open();
    receivers.push(receiver);
    // A label says that the rule is about events, whatever else it names.
    await alerting.alert({ labels, peer_rewritten: true }, [receiver.target]);
  }
  await alerting.check();
  for (const [index, [labels, names]] of cases.entries()) {
    const titles = names.map((name) => `${name} was seen for the first time`);
    const receiver = receivers[index];
    if (receiver) expect(await titlesOf(receiver, names.length), labels.join()).toEqual(titles);
  }
});

test('what the noise rules of a source explain is left out on request', async () => {
  const [all, quiet] = [await WebhookReceiver.open(), await WebhookReceiver.open()];
  const alerting = await AlertingNode.open();
  const web = await ScriptedWeb.open();
  web.script('/noisy', page('<p>A<time>1</time>'), page('<p>A<time>2</time>'), page('<p>B<time>3</time>'));
  await alerting.watch(web.url('/noisy'), { noise_rules: [{ kind: 'selector', value: 'time', note: '' }] });
  await alerting.check();
  await alerting.alert({ event_types: ['changed'] }, [all.target]);
  await alerting.alert({ event_types: ['changed'], not_noise: true }, [quiet.target]);
  await alerting.check();
  await titlesOf(all, 1);
  await alerting.check();
  await titlesOf(all, 2);
  await titlesOf(quiet, 1);
  expect(dataOf(quiet.calls[0]).alerts[0]?.diff).toEqual(['− A', '+ B']);
});

test('a rule is about what happens after it was added, and nothing is sent for a pause', async () => {
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open();
  const web = await ScriptedWeb.open();
  web.script('/a', page('1'), page('2'), page('3'), page('4'));
  await alerting.watch(web.url('/a'));
  await alerting.check();
  const { id } = await alerting.alert({}, [receiver.target]);
  const pause = (paused: boolean) => alerting.node.sendJson('PATCH', `/manage/alerts/${id}`, { paused });
  await pause(true);
  await alerting.check();
  await pause(false);
  await alerting.check();
  await titlesOf(receiver, 1);
  const events = await alerting.events();
  expect(dataOf(receiver.calls[0]).alerts[0]?.event).toBe(events[0]?.id);
});

test('many matches together go out as one message, and each event once', async () => {
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open();
  const web = await ScriptedWeb.open();
  const numbers = Array.from({ length: 60 }, (_, index) => index + 1);
  for (const number of numbers) web.script(`/${number}`, page(`page ${number}`));
  await alerting.watchList(numbers.map((number) => web.url(`/${number}`)));
  await alerting.alert({}, [receiver.target]);
  await alerting.check();
  const counts = () => receiver.calls.flatMap((call) => [dataOf(call).alerts.length, dataOf(call).more]);
  await eventually(() => expect(counts().reduce((sum, count) => sum + count, 0)).toBe(60));
  await alerting.check();
  const events = receiver.calls.flatMap((call) => dataOf(call).alerts.map(({ event }) => event));
  expect(new Set(events).size).toBe(events.length);
});

test('a source that fails is reported once for as long as it fails', async () => {
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open();
  const web = await ScriptedWeb.open();
  web.script(
    '/a',
    page('1'),
    page('no', { status: 500 }),
    page('no', { status: 500 }),
    page('2'),
    page('no', { status: 500 }),
  );
  await alerting.watch(web.url('/a'), { name: 'Fees' });
  await alerting.check();
  await alerting.alert({ failures: true }, [receiver.target]);
  await alerting.check();
  expect(await titlesOf(receiver, 1)).toEqual(['Fees cannot be retrieved']);
  expect(dataOf(receiver.calls[0]).alerts[0]?.text).toContain('The server answered 500');
  await alerting.check();
  await alerting.check();
  await alerting.check();
  expect(await titlesOf(receiver, 2)).toEqual(['Fees cannot be retrieved', 'Fees cannot be retrieved']);
});

test('a full archive is reported once, and again after there was room', async () => {
  const clock = new ManualClock();
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open({ clock });
  const web = await ScriptedWeb.open();
  web.script('/a', page('1'));
  await alerting.watch(web.url('/a'));
  await alerting.check();
  await alerting.alert({ disk: true }, [receiver.target]);
  const cap = async (data_cap_gb: number) => {
    await alerting.set({ data_cap_gb });
    await clock.sleeperOf(60_000);
    await clock.jump(60_000);
  };
  await cap(0);
  expect(await titlesOf(receiver, 1)).toEqual(['The archive is full']);
  await cap(0);
  await cap(10);
  await cap(0);
  expect(await titlesOf(receiver, 2)).toEqual(['The archive is full', 'The archive is full']);
});

test('a copy that falls behind is reported', async () => {
  const clock = new ManualClock();
  const receiver = await WebhookReceiver.open();
  const alerting = await AlertingNode.open({ clock });
  const target = `file://${alerting.node.dataFolder}-copy`;
  expect((await alerting.node.sendJson('POST', '/manage/copies', { target })).status).toBe(201);
  const node = { path: 'tides', title: 'Tides' };
  expect((await alerting.node.sendJson('POST', '/api/nodes', node)).status).toBe(201);
  await alerting.alert({ copy_behind: true }, [receiver.target]);
  await clock.sleeperOf(60_000);
  expect(receiver.calls).toEqual([]);
  await clock.jump(2 * 3_600_000);
  expect(await titlesOf(receiver, 1)).toEqual([`The copy in ${target} is out of date`]);
});

test('a passage is reported when a new version no longer has it or has it changed, with both wordings', async () => {
  const alerting = await AlertingNode.open();
  const web = await ScriptedWeb.open();
  // The words that come later stand elsewhere from the start.
  const text = (fee: string, hours: string) =>
    page(
      `<h1>Museum</h1><p>For everyone who enters, the fee is ${fee} a day.</p><p>Open ${hours}.</p><p>In July the fee is 25 euros.</p>`,
    );
  web.script(
    '/fees',
    text('20 euros', 'daily'),
    text('20 <b>euros</b>', 'on Sundays'),
    text('25 euros', 'on Sundays'),
    text('25 euros', 'daily'),
    page('<h1>Museum</h1><p>Closed.</p>'),
    page('<h1>Museum</h1><p>Closed for good.</p>'),
  );
  const { id: source } = await alerting.watch(web.url('/fees'), { name: 'Fees' });
  await alerting.check();
  const sha256 = (await alerting.events())[0]?.sha256 ?? '';
  const target = { kind: 'object' as const, id: sha256 };
  const quote = (exact: string) => addFinding(alerting.node, target, { passage: { sha256, exact } });
  const { id: finding } = await quote('fee is 20 euros');
  await quote('fee is 99 euros');
  const receiver = await WebhookReceiver.open();
  await alerting.alert({ passage_changed: true, sources: [source] }, [receiver.target]);
  for (let check = 1; check <= 5; check += 1) await alerting.check();
  const [changed, gone] = await eventually(() => {
    const alerts = receiver.calls.flatMap((call) => dataOf(call).alerts);
    expect(alerts).toHaveLength(2);
    return alerts;
  });
  expect(changed).toMatchObject({
    kind: 'passage_changed',
    title: 'A quoted passage has changed: Fees',
    passage: { finding, before: 'fee is 20 euros', after: 'fee is 25 euros' },
    diff: ['− fee is 20 euros', '+ fee is 25 euros'],
    event: 3,
  });
  expect(gone).toMatchObject({
    title: 'A quoted passage is gone: Fees',
    passage: { finding, before: 'fee is 20 euros', after: null },
    event: 5,
  });
  expect(changed?.link).toContain(`/findings?q=${finding}`);
});

test('a passage of the document of a drawn page is looked for in the documents of later captures', async () => {
  const alerting = await AlertingNode.open();
  const web = await ScriptedWeb.open();
  const drawn = (fee: string, day: string) =>
    page(
      `<h1>Museum</h1><p id="fee"></p><p>${day}</p><script>fee.textContent = 'The fee is ${fee}.'</script>`,
    );
  web.script(
    '/fees',
    drawn('20 euros', 'Monday'),
    drawn('20 euros', 'Tuesday'),
    drawn('25 euros', 'Tuesday'),
  );
  const { id: source } = await alerting.watch(web.url('/fees'), { name: 'Fees', capture: 'page' });
  await alerting.check();
  const { items } = await alerting.read<PageList>(`/archive/pages?source=${source}`);
  const { document: sha256, text } = await alerting.read<PageCapture>(`/archive/pages/${items[0]?.id}`);
  const target = { kind: 'object' as const, id: sha256 };
  const { id: finding } = await addFinding(alerting.node, target, {
    passage: { sha256, exact: 'fee is 20 euros' },
  });
  // Of the text that the page showed, the element is in that document.
  const ofText = await addFinding(
    alerting.node,
    { kind: 'object', id: text },
    { passage: { sha256: text, exact: 'Museum' } },
  );
  expect(ofText.passage?.derived).toMatchObject({ dom_path: '/html[1]/body[1]/h1[1]', document: sha256 });
  const receiver = await WebhookReceiver.open();
  await alerting.alert({ passage_changed: true, sources: [source] }, [receiver.target]);
  await alerting.check();
  await alerting.check();
  const alerts = await eventually(() => {
    const sent = receiver.calls.flatMap((call) => dataOf(call).alerts);
    expect(sent).toHaveLength(1);
    return sent;
  });
  expect(alerts[0]).toMatchObject({
    kind: 'passage_changed',
    passage: { finding, before: 'fee is 20 euros', after: 'fee is 25 euros' },
  });
});
