import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Diff, NoisePreview } from '../../../shared/collection/diff.ts';
import type { WatchedSource } from '../../../shared/collection/source.ts';
import type { LedgerVerification } from '../../../shared/ledger/ledger.ts';
import type { Job } from '../../../shared/node/job.ts';
import type { ProblemDocument } from '../../../shared/problems.ts';
import { ledgerSize } from '../../support/archive/uploads.ts';
import { eventually } from '../../support/eventually.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

let web: ScriptedWeb;
let node: CollectingNode;

/** Each test has sources of its own. */
beforeAll(async () => {
  web = await ScriptedWeb.open();
  node = await openCollectingNode({}, DERIVING);
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

let paths = 0;

/** Returns an address that no other test uses. */
function newPath(): string {
  paths += 1;
  return `/${paths}`;
}

const CLOCK = { kind: 'selector', value: '.clock', note: 'The time of day' };

/** Watches a page that serves these versions, and checks it once for each. */
async function watchVersions(
  versions: readonly string[],
  noise_rules: object[] = [],
  type = 'text/html',
): Promise<WatchedSource> {
  const path = newPath();
  web.script(path, ...versions.map((version) => page(version, { headers: { 'Content-Type': type } })));
  const source = await node.watch(web.url(path), { noise_rules });
  for (const _ of versions) await node.check([source.id]);
  return source;
}

async function diffOf(event: number | undefined): Promise<Diff> {
  return node.read<Diff>(`/api/events/${event}/diff`);
}

/** Returns whether each change is noise, oldest first, once all are marked. */
async function noiseOf(source: WatchedSource): Promise<(boolean | null)[]> {
  const read = async () =>
    (await node.events(`event_type=changed&source=${source.id}`)).map(({ is_noise }) => is_noise).reverse();
  await eventually(async () => expect(await read()).not.toContain(null));
  return read();
}

async function ledger(): Promise<LedgerVerification> {
  return node.read<LedgerVerification>('/api/ledger/verify');
}

describe('rules of a source', () => {
  test.each([
    ['selector', 'p:nosuch('],
    ['selector', '['],
    ['pattern', '('],
    ['pattern', '*'],
    ['json_path', 'a.b'],
    ['json_path', '$[?'],
  ])('are refused with a pointer if a %s is %s', async (kind, value) => {
    const body = { url: web.url(newPath()), noise_rules: [CLOCK, { kind, value }] };
    const answer = await node.node.sendJson('POST', '/manage/sources', body);
    expect(answer.status).toBe(422);
    expect((await answer.json()) as ProblemDocument).toMatchObject({
      code: 'invalid_field',
      errors: [{ path: '/noise_rules/1/value' }],
    });
  });

  test('are refused in a change too, which changes nothing', async () => {
    const { id } = await node.watch(web.url(newPath()));
    const change = await node.node.sendJson('PATCH', `/manage/sources/${id}`, {
      noise_rules: [{ kind: 'selector', value: '[' }],
    });
    expect(change.status).toBe(422);
    expect((await node.source(id)).noise_rules).toEqual([]);
  });

  test('are limited to 50', async () => {
    const { id } = await node.watch(web.url(newPath()));
    const rules = (count: number) => ({ noise_rules: Array.from({ length: count }, () => CLOCK) });
    expect((await node.node.sendJson('PATCH', `/manage/sources/${id}`, rules(50))).status).toBe(200);
    expect((await node.node.sendJson('PATCH', `/manage/sources/${id}`, rules(51))).status).toBe(422);
  });

  test('are recorded in the ledger when changed, and it verifies with and without them', async () => {
    const { id } = await node.watch(web.url(newPath()));
    const set = async (noise_rules: object[]) => {
      await node.node.sendJson('PATCH', `/manage/sources/${id}`, { noise_rules });
      return ledgerSize(node.node);
    };
    const size = await ledgerSize(node.node);
    expect(await set([])).toBe(size);
    expect(await set([CLOCK])).toBe(size + 1);
    expect(await set([{ ...CLOCK, note: '' }])).toBe(size + 2);
    expect(await ledger()).toMatchObject({ ok: true, size: size + 2 });
    expect(await set([])).toBe(size + 3);
    expect(await ledger()).toMatchObject({ ok: true, size: size + 3 });
  });
});

describe('changes of a source with rules', () => {
  test('are marked as noise if the rules explain them, and only then', async () => {
    const versions = [
      '<p>Report<span class="clock">10:00</span>',
      '<p>Report<span class="clock">11:00</span>',
      '<p>Report, second<span class="clock">12:00</span>',
      '<p id="x">Report, second<span class="clock">12:00</span>',
    ];
    const source = await watchVersions(versions, [CLOCK]);
    expect(await noiseOf(source)).toEqual([true, false, false]);
    expect((await ledger()).ok).toBe(true);
  });

  test('have diffs without the ignored parts, and with their number', async () => {
    const source = await watchVersions(['<p>A<b class="clock">1</b>', '<p>B<b class="clock">2</b>'], [CLOCK]);
    const [event] = await node.events(`event_type=changed&source=${source.id}`);
    const diff = await diffOf(event?.id);
    expect(diff).toMatchObject({
      summary: { added: 1, removed: 1 },
      noise: {
        is_noise: false,
        ignored: 2,
        rules: [{ ...CLOCK, outcome: 'applied', ignored: { from: 1, to: 1 } }],
      },
    });
    expect(JSON.stringify(diff)).not.toContain('"text":"2');
  });

  test.each([
    ['application/json', '{"at":1,"n":5}', '{"at":2,"n":5}', { kind: 'json_path', value: '$.at' }],
    ['application/json', '{"l":[{"t":"v1"}]}', '{"l":[{"t":"v2"}]}', { kind: 'pattern', value: 'v\\d' }],
    ['application/json', '[1,2,3]', '[1,9,3]', { kind: 'json_path', value: '$[1]' }],
    ['text/csv', 'id,t\n1,10:00\n', 'id,t\n1,11:00\n', { kind: 'pattern', value: '\\d+:\\d+' }],
    ['text/plain', 'a\nServed at 10\nb', 'a\nServed at 11\nb', { kind: 'pattern', value: '^Served.*$' }],
    [
      'application/rss+xml',
      '<r><d>1</d><t>x</t></r>',
      '<r><d>2</d><t>x</t></r>',
      { kind: 'selector', value: 'r > d' },
    ],
    [
      'text/html',
      '<script nonce=1></script><p>x',
      '<script nonce=2></script><p>x',
      { kind: 'selector', value: 'script' },
    ],
  ])('are noise in %s if a rule explains them', async (type, from, to, rule) => {
    const source = await watchVersions([from, to], [rule], type);
    expect(await noiseOf(source)).toEqual([true]);
  });

  test('lose their marks when the rules are removed, and the diff is made again', async () => {
    const source = await watchVersions(['<p>A<b class="clock">1</b>', '<p>A<b class="clock">2</b>'], [CLOCK]);
    expect(await noiseOf(source)).toEqual([true]);
    const [event] = await node.events(`event_type=changed&source=${source.id}`);
    expect(await diffOf(event?.id)).toMatchObject({ hunks: [], noise: { is_noise: true } });
    await node.node.sendJson('PATCH', `/manage/sources/${source.id}`, { noise_rules: [] });
    expect((await node.events(`source=${source.id}`)).map(({ is_noise }) => is_noise)).toEqual([null, null]);
    expect(await diffOf(event?.id)).toMatchObject({ summary: { added: 1 }, noise: { is_noise: null } });
  });
});

describe('new rules for old versions', () => {
  const versions = [1, 2, 3, 4].map((hour) => `<p>${hour < 4 ? 'Old' : 'New'}<b class="clock">${hour}</b>`);

  test('are applied to all of them as a job, without changing events or ledger', async () => {
    const source = await watchVersions(versions);
    const before = await ledger();
    await node.node.sendJson('PATCH', `/manage/sources/${source.id}`, { noise_rules: [CLOCK] });
    expect((await node.events(`source=${source.id}`))[0]?.is_noise).toBeNull();
    const answer = await node.node.sendJson('POST', `/manage/sources/${source.id}/noise`, undefined);
    expect(answer.status).toBe(202);
    const { id } = (await answer.json()) as Job;
    const job = await eventually(async () => {
      const read = await node.read<Job>(`/manage/jobs/${id}`);
      expect(read.state).toBe('done');
      return read;
    });
    expect(job).toMatchObject({
      kind: 'noise',
      progress: { done: 3, total: 3, unit: 'events' },
      result: { events: 3, noise: 2, timed_out: 0, unreadable: 0 },
    });
    expect(await noiseOf(source)).toEqual([true, true, false]);
    const after = await ledger();
    expect(after.ok).toBe(true);
    expect(after.size).toBe(before.size + 1);
  });

  test('can be cancelled, and earlier results are kept', async () => {
    const hostile = { kind: 'pattern', value: '^(\\w+\\s?)*$' };
    const texts = [1, 2, 3, 4].map((version) => `${'word '.repeat(40)}! ${version}`);
    const source = await watchVersions(texts, [], 'text/plain');
    await node.node.sendJson('PATCH', `/manage/sources/${source.id}`, { noise_rules: [hostile] });
    const answer = await node.node.sendJson('POST', `/manage/sources/${source.id}/noise`, undefined);
    const { id } = (await answer.json()) as Job;
    const ended = await node.node.fetchAsOwner(`/manage/jobs/${id}`, { method: 'DELETE' });
    const job = (await ended.json()) as Job;
    expect(job.state).toBe('cancelled');
    expect(job.progress.done).toBeLessThan(3);
    expect(job.result).toMatchObject({ events: job.progress.done, timed_out: job.progress.done });
  });

  test('can be previewed for all changes or one, without changing anything', async () => {
    const source = await watchVersions(versions);
    const address = `/manage/sources/${source.id}/noise/preview`;
    const all = (await (
      await node.node.sendJson('POST', address, { rules: [CLOCK] })
    ).json()) as NoisePreview;
    expect(all.total).toBe(3);
    expect(all.events.map(({ noise }) => noise?.is_noise)).toEqual([false, true, true]);
    const event = all.events[1]?.event;
    const one = (await (
      await node.node.sendJson('POST', address, { rules: [CLOCK], event })
    ).json()) as NoisePreview;
    expect(one).toMatchObject({ events: [{ event }], diff: { hunks: [], noise: { is_noise: true } } });
    expect((await node.events(`source=${source.id}`)).every(({ is_noise }) => is_noise === null)).toBe(true);
    expect((await diffOf(event)).noise.rules).toEqual([]);
  });

  test('are refused in a preview if one is malformed, or the event is no change of the source', async () => {
    const source = await watchVersions(versions.slice(0, 1));
    const [first] = await node.events(`source=${source.id}`);
    for (const [body, path] of [
      [{ rules: [{ kind: 'pattern', value: '(' }] }, '/rules/0/value'],
      [{ rules: [], event: first?.id }, '/event'],
      [{ rules: [], event: 99_999 }, '/event'],
    ] as const) {
      const answer = await node.node.sendJson('POST', `/manage/sources/${source.id}/noise/preview`, body);
      expect(answer.status).toBe(422);
      expect(((await answer.json()) as ProblemDocument).errors?.[0]?.path).toBe(path);
    }
  });

  test('require the owner and an existing source', async () => {
    const { id } = await node.watch(web.url(newPath()));
    expect((await node.node.fetch(`/manage/sources/${id}/noise`, { method: 'POST' })).status).toBe(401);
    const unknown = '/manage/sources/so_00000000000000000000/noise';
    expect((await node.node.sendJson('POST', unknown, undefined)).status).toBe(404);
    expect((await node.node.sendJson('POST', `${unknown}/preview`, { rules: [] })).status).toBe(404);
  });
});
