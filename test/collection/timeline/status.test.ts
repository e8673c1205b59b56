import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../support/manualClock.ts';
import { closeTestNodes } from '../../support/node.ts';
import { closeScriptedWebs, page, ScriptedWeb, unreachableUrl } from '../../support/scriptedWeb.ts';
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
