import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Source } from '../../../shared/collection/source.ts';
import { ManualClock } from '../../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb, unreachableUrl } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { NOON, response } from '../../support/warcFiles.ts';
import { imported } from '../captures/support.ts';
import { openCollectingNode } from '../support.ts';

let web: ScriptedWeb;

beforeEach(async () => {
  web = await ScriptedWeb.open();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const found = (body: string) => page(body);

describe('/api/status', () => {
  test('is 503 until a round that checked a source is completed, and again 24 hours later', async () => {
    const clock = new ManualClock();
    const node = await openCollectingNode({}, { clock });
    const status = async () => (await node.node.fetch('/api/status')).status;
    expect(await status()).toBe(503);
    await node.check();
    expect(await status(), 'a round without sources does not count').toBe(503);
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

  test('says why it is 503: no sources, none due yet, or overdue; null while it is 200', async () => {
    const clock = new ManualClock();
    const node = await openCollectingNode({}, { clock });
    const reason = async () => (await node.status()).reason;
    expect(await reason()).toBe('no_sources');
    web.script('/page', found('1'));
    const { id } = await node.watch(web.url('/page'), { every_minutes: 1440 });
    expect(await reason()).toBe('not_yet');
    await node.check();
    expect(await reason()).toBeNull();
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { paused: true });
    await clock.turn(24 * 3_600_000 + 1);
    expect(await reason(), 'a paused source is not watched').toBe('no_sources');
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { paused: false });
    expect(await node.status()).toMatchObject({ reason: 'overdue', sources: { total: 1 } });
  });

  test('is overdue when checks that were due were not made, and not when the interval is longer', async () => {
    const clock = new ManualClock();
    const node = await openCollectingNode({}, { clock, collect: false });
    await node.watch('http://127.0.0.1:9/hourly');
    await node.watch('http://127.0.0.1:9/weekly', { every_minutes: 10_080 });
    await clock.turn(24 * 3_600_000);
    expect((await node.status()).reason).toBe('not_yet');
    await clock.turn(1);
    expect((await node.status()).reason).toBe('overdue');
  });

  test('counts imported captures as what they are: their sources are not watched, and show their events', async () => {
    const node = await openCollectingNode();
    await imported(node, response('as it was', { uri: 'http://example.com/', date: NOON }));
    expect(await node.status()).toMatchObject({
      ok: false,
      reason: 'no_sources',
      sources: { total: 1, failing: 0 },
    });
    const { items } = await node.read<{ items: Source[] }>('/api/sources');
    expect(items).toMatchObject([{ captures_only: true, last_event_type: 'first_seen', last_sha256: null }]);
    const { total } = await node.read<{ total: number }>(`/api/events?source=${items[0]?.id}`);
    expect(total).toBe((await node.read<{ events: number }>('/api/stats')).events);
    expect((await node.read<{ total: number }>('/api/sources?paused=false')).total).toBe(0);
    expect((await node.read<{ total: number }>('/api/sources?paused=true')).total).toBe(1);
    expect((await node.source(items[0]?.id ?? '')).last_event_at).not.toBeNull();
    await node.node.sendJson('PATCH', `/manage/sources/${items[0]?.id}`, { paused: false });
    expect(await node.status()).toMatchObject({ reason: 'not_yet', sources: { total: 1 } });
    expect(await node.source(items[0]?.id ?? '')).toMatchObject({ captures_only: false });
  });

  test('lists every failing source with since when and how often, including new sources and 4xx', async () => {
    const clock = new ManualClock();
    const node = await openCollectingNode({}, { clock });
    web.script('/forbidden', page('no', { status: 403 }));
    web.script('/fine', found('1'));
    await node.watch(web.url('/forbidden'), { name: 'F' });
    await clock.turn(1);
    await node.watch(await unreachableUrl(), { name: 'D' });
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
      clock_behind_seconds: 0,
    });
  });
});
