import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { closeTestNodes } from '../support/node.ts';
import { closeScriptedWebs, deadUrl, page, ScriptedWeb, silence, tagged } from '../support/scriptedWeb.ts';
import { TurnedClock } from '../support/turnedClock.ts';
import { openCollectingNode } from './support.ts';

let web: ScriptedWeb;

beforeEach(async () => {
  web = await ScriptedWeb.open();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

const found = (body: string) => page(body);
const missing = page('no such page', { status: 404 });
const broken = page('broken', { status: 500 });

describe('a life of a source, seen from outside', () => {
  test('every event comes once, in order, with its digests; ids have no gap; the ledger holds them all', async () => {
    const node = await openCollectingNode({ gone_after_minutes: 0 });
    web.script(
      '/page',
      found('1'),
      found('1'),
      found('2'),
      broken,
      broken,
      broken,
      broken,
      found('2'),
      missing,
      missing,
      found('1'),
    );
    const { id } = await node.watch(web.url('/page'), { name: 'Page', agency: 'Agency', tags: ['a', 'b'] });
    const results = [];
    for (let round = 0; round < 11; round += 1) results.push(await node.check());
    expect(results.map(({ events }) => events)).toEqual([
      [1],
      [],
      [2],
      [],
      [],
      [3],
      [],
      [4],
      [],
      [5],
      [6, 7],
    ]);
    expect(results[0]).toEqual({
      checked: 1,
      unchanged: 0,
      changed: 1,
      failed: 0,
      events: [1],
      observer_offline: false,
    });
    expect(results[1]).toMatchObject({ unchanged: 1, changed: 0 });
    expect(results[3]).toMatchObject({ failed: 1 });
    const events = (await node.events()).reverse();
    const told = events.map((event) => [
      event.id,
      event.event_type,
      event.sha256,
      event.previous_sha256,
      event.reverts_to,
    ]);
    const [one, two] = [sha256('1'), sha256('2')];
    expect(told).toEqual([
      [1, 'first_seen', one, null, null],
      [2, 'changed', two, one, null],
      [3, 'unavailable', null, two, null],
      [4, 'recovered', two, null, null],
      [5, 'disappeared', null, two, null],
      [6, 'recovered', one, null, null],
      [7, 'changed', one, two, 1],
    ]);
    expect(events[0]).toMatchObject({
      source: { id, url: web.url('/page'), name: 'Page', agency: 'Agency', tags: ['a', 'b'] },
      observer: 'self',
      original_observed_at: null,
    });
    expect(await node.source(id)).toMatchObject({
      state: 'available',
      last_sha256: one,
      last_event_type: 'changed',
    });
    const ledger = await node.read<{ items: { seq: number; type: string; subject: string }[] }>(
      '/api/ledger',
    );
    const recorded = ledger.items.filter(({ type }) => type === 'event.recorded');
    expect(recorded.map(({ seq, subject }) => [seq, Number(subject)])).toEqual(
      events.map((event) => [event.ledger_entry, event.id]),
    );
    expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true, problems: [] });
    expect(await node.read('/api/stats')).toEqual({
      sources: 1,
      observations: 5,
      archived_objects: 4,
      events: 7,
      derived_documents: 0,
    });
  });

  test('an error body is archived and named by its retrieval, but is no observation and no version', async () => {
    const node = await openCollectingNode();
    web.script('/page', missing);
    const { id } = await node.watch(web.url('/page'));
    await node.check();
    const [retrieval] = await node.retrievals(id);
    expect(retrieval).toMatchObject({
      status: 404,
      error: 'http_error',
      sha256: sha256('no such page'),
      bytes: 12,
    });
    expect(await (await node.node.ask(`/archive/${sha256('no such page')}`)).text()).toBe('no such page');
    expect(await node.source(id)).toMatchObject({ state: 'new', last_sha256: null });
    expect(await node.read('/api/stats')).toMatchObject({ observations: 0, archived_objects: 1, events: 0 });
  });
});

describe('conditional requests', () => {
  test('a page is asked for by its own validators, and 304 is an observation of the same digest', async () => {
    const node = await openCollectingNode();
    web.script('/page', tagged('text', '"v1"'));
    const { id } = await node.watch(web.url('/page'));
    await node.check();
    expect(await node.check()).toMatchObject({ unchanged: 1, failed: 0 });
    const [first, second] = web.requests('/page');
    expect(first?.headers).not.toHaveProperty('if-none-match');
    expect(second?.headers).toMatchObject({ 'if-none-match': '"v1"' });
    const [, retrieval] = await node.retrievals(id);
    expect(retrieval).toMatchObject({
      status: 304,
      error: null,
      sha256: sha256('text'),
      content_type: 'text/html',
    });
    expect(await node.read('/api/stats')).toMatchObject({ observations: 2, events: 1 });
  });

  test('the validators follow the answer: a changed tag, Last-Modified, none, and none over an error', async () => {
    const node = await openCollectingNode();
    const served = { Date: 'Fri, 20 Nov 2026 10:00:00 GMT' };
    web.script(
      '/page',
      page('a', { headers: { ETag: '"1"' } }),
      page('a', { headers: { ETag: 'W/"2"', 'Last-Modified': 'Thu, 19 Nov 2026 10:00:00 GMT', ...served } }),
      broken,
      page('a', { headers: { 'Last-Modified': served.Date, ...served } }),
      page('a'),
    );
    await node.watch(web.url('/page'));
    for (let round = 0; round < 5; round += 1) await node.check();
    const conditions = web
      .requests('/page')
      .map(({ headers }) => [headers['if-none-match'], headers['if-modified-since']]);
    expect(conditions).toEqual([
      [undefined, undefined],
      ['"1"', undefined],
      ['W/"2"', 'Thu, 19 Nov 2026 10:00:00 GMT'],
      ['W/"2"', 'Thu, 19 Nov 2026 10:00:00 GMT'],
      // Changed in the second it was served: it may change again in that second, and the date would not show it.
      [undefined, undefined],
    ]);
  });

  test('validators go to the address that gave them, not to the one that redirects there', async () => {
    const node = await openCollectingNode();
    web.script('/old', page('', { status: 301, headers: { Location: '/new' } }));
    web.script('/new', tagged('text', '"v1"'));
    await node.watch(web.url('/old'));
    await node.check();
    expect(await node.check()).toMatchObject({ unchanged: 1 });
    expect(web.requests('/old')[1]?.headers).not.toHaveProperty('if-none-match');
    expect(web.requests('/new')[1]?.headers).toMatchObject({ 'if-none-match': '"v1"' });
  });

  test('an object that is no longer held is asked for anew, and healed', async () => {
    const node = await openCollectingNode();
    web.script('/page', tagged('text', '"v1"'));
    await node.watch(web.url('/page'));
    await node.check();
    const digest = sha256('text');
    await rm(join(node.node.dataFolder, 'blobs', digest.slice(0, 2), digest.slice(2, 4), digest));
    await node.check();
    expect(web.requests('/page')[1]?.headers).not.toHaveProperty('if-none-match');
    expect(await (await node.node.ask(`/archive/${digest}`)).text()).toBe('text');
  });
});

describe('retries within a round', () => {
  test('a failure is retried with growing delays before it counts; every attempt is kept', async () => {
    const clock = new TurnedClock();
    const node = await openCollectingNode(
      { retry_delays_seconds: [2, 10], unavailable_after_failures: 1 },
      { clock },
    );
    web.script('/page', found('1'), broken, broken, found('1'), broken);
    const { id } = await node.watch(web.url('/page'));
    await node.check();
    const second = node.check();
    await clock.sleeperOf(2_000);
    await clock.turn(2_000);
    await clock.sleeperOf(10_000);
    await clock.turn(10_000);
    expect(await second).toMatchObject({ checked: 1, unchanged: 1, failed: 0, events: [] });
    expect((await node.retrievals(id)).map(({ status }) => status)).toEqual([200, 500, 500, 200]);
    expect(await node.source(id)).toMatchObject({ consecutive_failures: 0, last_status: 200 });
    const third = node.check();
    await clock.sleeperOf(2_000);
    await clock.turn(2_000);
    await clock.sleeperOf(10_000);
    await clock.turn(10_000);
    expect(await third, 'three attempts are one failure').toMatchObject({ failed: 1, events: [2] });
    expect(await node.source(id)).toMatchObject({ consecutive_failures: 1, state: 'unavailable' });
  });

  test('Retry-After is honoured, in seconds and as a date, also where the delay is shorter', async () => {
    const clock = new TurnedClock();
    const node = await openCollectingNode({ retry_delays_seconds: [2, 2] }, { clock });
    const busy = (after: string) => page('later', { status: 503, headers: { 'Retry-After': after } });
    web.script('/page', busy('30'), busy(new Date(clock.now() + 50_000).toUTCString()), found('1'));
    await node.watch(web.url('/page'));
    const checking = node.check();
    await clock.sleeperOf(30_000);
    await clock.turn(30_000);
    await clock.sleeperOf(20_000);
    expect(web.requests('/page')).toHaveLength(2);
    await clock.turn(20_000);
    expect(await checking).toMatchObject({ failed: 0, changed: 1 });
  });

  test('a host that asks for an hour is not waited for, nor asked before; its source is due after that', async () => {
    const clock = new TurnedClock();
    const node = await openCollectingNode({ retry_delays_seconds: [2] }, { clock });
    web.script('/page', page('later', { status: 429, headers: { 'Retry-After': '7200' } }), found('1'));
    const { id } = await node.watch(web.url('/page'), { every_minutes: 1 });
    expect(await node.check()).toMatchObject({ checked: 1, failed: 1 });
    expect((await node.source(id)).next_check_at).toBe(new Date(clock.now() + 7_200_000).toISOString());
    expect(await node.check()).toMatchObject({ checked: 0, failed: 0 });
    await clock.turn(7_200_000);
    expect(await node.check()).toMatchObject({ checked: 1, changed: 1 });
    expect(web.requests('/page')).toHaveLength(2);
  });
});

describe('when everything fails at once, the fault is the observer’s own network', () => {
  async function threeHosts() {
    const webs = [
      web,
      await ScriptedWeb.open({ host: '127.0.0.2' }),
      await ScriptedWeb.open({ host: '127.0.0.3' }),
    ];
    const node = await openCollectingNode({ unavailable_after_failures: 1 });
    const ids: string[] = [];
    for (const host of webs) {
      host.script('/page', found('1'));
      ids.push((await node.watch(host.url('/page'))).id);
    }
    await node.check();
    return { node, webs, ids };
  }

  test('no host of three can be reached: observer_offline, no source’s count moves, nothing fails', async () => {
    const { node, webs, ids } = await threeHosts();
    for (const host of webs) host.script('/page', (socket) => void socket.resetAndDestroy());
    const before = await node.status();
    expect(await node.check()).toMatchObject({ checked: 3, failed: 3, events: [], observer_offline: true });
    for (const id of ids) {
      expect(await node.source(id)).toMatchObject({
        state: 'available',
        consecutive_failures: 0,
        last_status: 200,
      });
      expect((await node.retrievals(id)).at(-1), 'the attempt is kept').toMatchObject({
        error: 'connection_reset',
      });
    }
    const after = await node.status();
    expect(after).toMatchObject({ sources: { available: 3, failing: 0 }, failing: [] });
    expect(after.last_completed_collection_at).toBe(before.last_completed_collection_at);
  });

  test('one host answers, whatever it answers: the failures of the others count', async () => {
    const { node, webs, ids } = await threeHosts();
    webs[0]?.script('/page', (socket) => void socket.resetAndDestroy());
    webs[1]?.script('/page', (socket) => void socket.resetAndDestroy());
    webs[2]?.script('/page', broken);
    expect(await node.check()).toMatchObject({ failed: 3, observer_offline: false, events: [4, 5, 6] });
    for (const id of ids) expect(await node.source(id)).toMatchObject({ state: 'unavailable' });
    expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });
  });

  test('sources that were not asked for say nothing of the network', async () => {
    const { node, webs, ids } = await threeHosts();
    const forbidden = page('User-agent: *\nDisallow: /', { headers: { 'Content-Type': 'text/plain' } });
    const others = await Promise.all(
      ['127.0.0.4', '127.0.0.5', '127.0.0.6'].map((host) => ScriptedWeb.open({ host })),
    );
    for (const other of others) {
      other.script('/robots.txt', forbidden);
      ids.push((await node.watch(other.url('/page'))).id);
    }
    await node.check(ids.slice(3));
    webs[0]?.script('/page', (socket) => void socket.resetAndDestroy());
    expect(await node.check([...ids.slice(3), ids[0] as string])).toMatchObject({
      failed: 4,
      observer_offline: false,
    });
    expect(await node.source(ids[0] as string)).toMatchObject({ state: 'unavailable' });
  });

  test('two hosts say nothing of the network: their failures count', async () => {
    const { node, webs, ids } = await threeHosts();
    for (const host of webs) host.script('/page', (socket) => void socket.resetAndDestroy());
    expect(await node.check(ids.slice(0, 2))).toMatchObject({ failed: 2, observer_offline: false });
    expect(await node.status()).toMatchObject({ sources: { available: 1, failing: 2 } });
  });
});

describe('rounds', () => {
  test('without wait, a round is a job with progress and a result', async () => {
    const node = await openCollectingNode();
    web.script('/page', found('1'));
    await node.watch(web.url('/page'));
    const answer = await node.node.askAsOwner('/manage/collections', { method: 'POST' });
    expect(answer.status).toBe(202);
    const { id } = (await answer.json()) as { id: string };
    await node.check();
    expect(await node.read(`/manage/jobs/${id}`)).toMatchObject({
      kind: 'collection',
      state: 'done',
      progress: { done: 1, total: 1, unit: 'sources' },
      result: { checked: 1, events: [1] },
    });
  });

  test('rounds never overlap: one that is asked for while another runs waits for it', async () => {
    const node = await openCollectingNode();
    let answer = () => {};
    web.script(
      '/page',
      (socket, request) => {
        answer = () => void found('1')(socket, request);
      },
      found('2'),
    );
    await node.watch(web.url('/page'));
    const [first, second] = [node.check(), node.check()];
    await web.asked('/page');
    expect(web.requests('/page')).toHaveLength(1);
    answer();
    expect([(await first).events, (await second).events]).toEqual([[1], [2]]);
  });

  test('a round that is cancelled ends at once, and records no attempt that it broke off', async () => {
    const node = await openCollectingNode();
    web.script('/page', silence);
    const { id } = await node.watch(web.url('/page'));
    const { id: job } = (await (
      await node.node.askAsOwner('/manage/collections', { method: 'POST' })
    ).json()) as {
      id: string;
    };
    await web.asked('/page');
    const cancelled = await node.node.askAsOwner(`/manage/jobs/${job}`, { method: 'DELETE' });
    expect(await cancelled.json()).toMatchObject({ state: 'cancelled' });
    expect(await node.retrievals(id)).toEqual([]);
    expect(await node.status(), 'it was not completed').toMatchObject({ ok: false });
  });

  test('paused sources are checked only where they are named; unknown and removed ones are refused', async () => {
    const node = await openCollectingNode();
    web.script('/page', found('1'));
    const { id } = await node.watch(web.url('/page'));
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { paused: true });
    expect(await node.check()).toMatchObject({ checked: 0 });
    expect(await node.check([id, id])).toMatchObject({ checked: 1 });
    await node.node.askAsOwner(`/manage/sources/${id}`, { method: 'DELETE' });
    for (const unknown of [id, `so_${'0'.repeat(20)}`]) {
      const answer = await node.node.sendJson('POST', '/manage/collections?wait=true', {
        sources: [unknown],
      });
      expect(answer.status).toBe(422);
      expect(await answer.json()).toMatchObject({ code: 'unknown_source', errors: [{ path: '/sources/0' }] });
    }
  });
});

describe('/api/status', () => {
  test('503 until a collection that checked a source was completed, and again 24 hours after it', async () => {
    const clock = new TurnedClock();
    const node = await openCollectingNode({}, { clock });
    const status = async () => (await node.node.ask('/api/status')).status;
    expect(await status()).toBe(503);
    await node.check();
    expect(await status(), 'a round that checked nothing is none').toBe(503);
    web.script('/page', found('1'));
    await node.watch(web.url('/page'));
    await node.check();
    expect(await status()).toBe(200);
    await clock.turn(24 * 3_600_000);
    expect(await node.status()).toMatchObject({ ok: true, age_seconds: 86_400 });
    await clock.turn(1);
    expect(await status()).toBe(503);
    expect(await node.status()).toMatchObject({
      ok: false,
      last_completed_collection_at: '2026-11-20T10:00:00.000Z',
    });
  });

  test('lists every source that fails, since when and how often, those of state new and 4xx too', async () => {
    const clock = new TurnedClock();
    const node = await openCollectingNode({}, { clock });
    web.script('/forbidden', page('no', { status: 403 }));
    web.script('/fine', found('1'));
    await node.watch(web.url('/forbidden'), { name: 'F' });
    await clock.turn(1);
    await node.watch(await deadUrl(), { name: 'D' });
    await node.watch(web.url('/fine'));
    await node.check();
    await clock.turn(60_000);
    await node.check();
    expect(await node.status()).toMatchObject({
      ok: true,
      sources: { total: 3, available: 1, failing: 2 },
      failing: [
        {
          source: { name: 'F' },
          error: 'http_error',
          status: 403,
          since: '2026-11-20T10:00:00.001Z',
          consecutive: 2,
        },
        { source: { name: 'D' }, error: 'connection_refused', status: null, consecutive: 2 },
      ],
      storage: null,
    });
  });
});
