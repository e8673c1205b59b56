import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../support/manualClock.ts';
import {
  closeScriptedWebs,
  cutShort,
  page,
  reset,
  ScriptedWeb,
  type Step,
} from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

const MINUTE = 60_000;
let clock: ManualClock;
let web: ScriptedWeb;
let node: CollectingNode;

beforeEach(async () => {
  clock = new ManualClock();
  web = await ScriptedWeb.open();
  node = await openCollectingNode({}, { clock });
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const RESPONSES: Record<string, Step> = {
  A: page('A'),
  B: page('B'),
  404: page('no', { status: 404 }),
  410: page('no', { status: 410 }),
  403: page('no', { status: 403 }),
  500: page('broken', { status: 500 }),
  reset: reset(),
  cut: cutShort(100, 'A'),
};

/** Minutes since the previous check, the source's response, and the expected events and state. */
type Check = [minutes: number, response: keyof typeof RESPONSES, events: string, state: string];

const SEEN: Check = [0, 'A', 'first_seen', 'available'];
const FAILED: Check[] = [
  [1, '500', '', 'available'],
  [1, 'reset', '', 'available'],
  [1, 'cut', 'unavailable', 'unavailable'],
];
const VANISHED: Check[] = [
  [1, '404', '', 'available'],
  [10, '410', 'disappeared', 'gone'],
];

const LIVES: Record<string, Check[]> = {
  'new: 404s and failures cause no event': [
    [0, '404', '', 'new'],
    [10, '404', '', 'new'],
    [10, '500', '', 'new'],
    [1, '500', '', 'new'],
    [1, 'reset', '', 'new'],
    [1, 'A', 'first_seen', 'available'],
  ],
  'available: the same digest causes no event; another digest, also a former one, is a change': [
    SEEN,
    [1, 'A', '', 'available'],
    [1, 'B', 'changed', 'available'],
    [1, 'A', 'changed', 'available'],
  ],
  'available: the third failure in a row is unavailable; the fourth causes no event': [
    SEEN,
    ...FAILED,
    [1, '500', '', 'unavailable'],
    [60, '403', '', 'unavailable'],
    [1, 'A', 'recovered', 'available'],
  ],
  'available: a success resets the count of failures': [
    SEEN,
    [1, '500', '', 'available'],
    [1, '500', '', 'available'],
    [1, 'A', '', 'available'],
    [1, '500', '', 'available'],
    [1, '500', '', 'available'],
    [1, '500', 'unavailable', 'unavailable'],
  ],
  'available: a 404 at least ten minutes after the first is disappeared': [
    SEEN,
    [1, '404', '', 'available'],
    [9.9, '404', '', 'available'],
    [0.1, '404', 'disappeared', 'gone'],
  ],
  'available: another failure ends a run of 404s': [
    SEEN,
    [1, '404', '', 'available'],
    [20, 'reset', '', 'available'],
    [20, '404', '', 'available'],
    [9, '404', '', 'available'],
    [1, '410', 'disappeared', 'gone'],
  ],
  'available: a 404 ends a run of other failures': [
    SEEN,
    [1, '500', '', 'available'],
    [1, '500', '', 'available'],
    [1, '404', '', 'available'],
    [1, '500', '', 'available'],
    [1, '500', '', 'available'],
    [1, '500', 'unavailable', 'unavailable'],
  ],
  'unavailable: another digest is recovered, then changed, in one check': [
    SEEN,
    ...FAILED,
    [1, 'B', 'recovered changed', 'available'],
  ],
  'unavailable: 404s are counted as for available': [
    SEEN,
    ...FAILED,
    [1, '404', '', 'unavailable'],
    [10, '404', 'disappeared', 'gone'],
    [1, 'A', 'recovered', 'available'],
  ],
  'gone: 404s and other failures cause no event; the same digest is recovered': [
    SEEN,
    ...VANISHED,
    [60, '404', '', 'gone'],
    [1, '500', '', 'gone'],
    [1, '500', '', 'gone'],
    [1, 'reset', '', 'gone'],
    [1, '500', '', 'gone'],
    [1, 'A', 'recovered', 'available'],
  ],
  'gone: another digest is recovered, then changed': [
    SEEN,
    ...VANISHED,
    [1, 'B', 'recovered changed', 'available'],
  ],
};

test.each(Object.entries(LIVES))('%s', async (_title, checks) => {
  const { id } = await node.watch(web.url('/page'));
  let known = 0;
  for (const [index, [minutes, response, events, state]] of checks.entries()) {
    await clock.turn(minutes * MINUTE);
    web.script('/page', RESPONSES[response] as Step);
    const { events: recorded } = await node.check();
    const timeline = await node.timeline();
    const step = `check ${index + 1}: ${response}`;
    expect(timeline.slice(known).join(' '), step).toBe(events);
    expect(recorded, step).toEqual(timeline.slice(known).map((_type, after) => known + after + 1));
    expect(await node.source(id), step).toMatchObject({ state });
    known = timeline.length;
  }
  expect(await node.retrievals(id)).toHaveLength(checks.length);
  expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });
});

test('a reversion links to the first event with that digest', async () => {
  web.script('/page', ...['A', 'B', 'A', 'B', 'A'].map((name) => RESPONSES[name] as Step));
  await node.watch(web.url('/page'));
  for (let round = 0; round < 5; round += 1) await node.check();
  const events = (await node.events()).reverse();
  expect(events.map(({ event_type, reverts_to }) => [event_type, reverts_to])).toEqual([
    ['first_seen', null],
    ['changed', null],
    ['changed', 1],
    ['changed', 2],
    ['changed', 1],
  ]);
});

test('a probable error page is labelled on its retrieval and event, and is no disappearance', async () => {
  const { id } = await node.watch(web.url('/page'));
  web.script('/page', RESPONSES.A as Step);
  await node.check();
  web.script('/page', page('<html><title>404 Not Found</title>Nothing here</html>'));
  for (let round = 0; round < 3; round += 1) {
    await clock.turn(20 * MINUTE);
    await node.check();
  }
  expect(await node.timeline()).toEqual(['first_seen', 'changed']);
  expect((await node.events())[0]).toMatchObject({ page_label: { label: 'error_page' } });
  expect((await node.retrievals(id)).slice(1)).toMatchObject(
    Array.from({ length: 3 }, () => ({ error: null, page_label: { label: 'error_page' } })),
  );
  expect(await node.source(id)).toMatchObject({ state: 'available' });
});

test('the status lists exactly the sources whose last check was a 4xx or another failure', async () => {
  const paths = ['/new', '/available', '/unavailable', '/gone', '/fine'];
  for (const path of paths) {
    await node.watch(web.url(path), { name: path });
    web.script(path, RESPONSES[path === '/new' ? '403' : 'A'] as Step);
  }
  await node.check();
  const last: Record<string, string> = {
    '/available': '404',
    '/unavailable': '403',
    '/gone': '404',
    '/fine': 'A',
  };
  for (let round = 0; round < 3; round += 1) {
    await clock.turn(5 * MINUTE);
    for (const [path, response] of Object.entries(last))
      if (path !== '/available' || round === 2) web.script(path, RESPONSES[response] as Step);
    await node.check();
  }
  const { failing, sources } = await node.status();
  const states = await Promise.all(
    failing.map(
      async ({ source, status, consecutive }) =>
        [source.name, `${(await node.source(source.id)).state} ${status} ${consecutive}`] as const,
    ),
  );
  expect(Object.fromEntries(states)).toEqual({
    '/available': 'available 404 1',
    '/gone': 'gone 404 3',
    '/new': 'new 403 4',
    '/unavailable': 'unavailable 403 3',
  });
  expect(sources).toEqual({ total: 5, available: 2, failing: 4 });
});
