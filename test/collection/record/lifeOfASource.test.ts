import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { openCollectingNode } from '../support.ts';

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

describe('the life of a source, seen from outside', () => {
  test('every event is recorded once, in order, with its digests and a ledger entry; ids have no gaps', async () => {
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
    const summary = events.map((event) => [
      event.id,
      event.event_type,
      event.sha256,
      event.previous_sha256,
      event.reverts_to,
    ]);
    const [one, two] = [sha256('1'), sha256('2')];
    expect(summary).toEqual([
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

  test('an error body is archived with its retrieval, but is neither an observation nor a version', async () => {
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
    expect(await (await node.node.fetch(`/archive/${sha256('no such page')}`)).text()).toBe('no such page');
    expect(await node.source(id)).toMatchObject({ state: 'new', last_sha256: null });
    expect(await node.read('/api/stats')).toMatchObject({ observations: 0, archived_objects: 1, events: 0 });
  });
});
