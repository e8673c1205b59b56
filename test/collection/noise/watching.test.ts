import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Diff, NoisePreview } from '../../../shared/collection/diff.ts';
import type { Event } from '../../../shared/collection/event.ts';
import type { Watch } from '../../../shared/collection/noise.ts';
import type { WatchedSource } from '../../../shared/collection/source.ts';
import type { LedgerVerification } from '../../../shared/ledger/ledger.ts';
import type { ProblemDocument } from '../../../shared/problems.ts';
import { MAX_BLOCKED_MS, maxBlockedCpu } from '../../support/blockedCpu.ts';
import { eventually } from '../../support/eventually.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

let node: CollectingNode;
let web: ScriptedWeb;

beforeAll(async () => {
  node = await openCollectingNode({}, DERIVING);
  web = await ScriptedWeb.open();
});

afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

let paths = 0;

async function watchVersions(
  versions: readonly string[],
  fields: object,
  type = 'text/html',
): Promise<WatchedSource> {
  paths += 1;
  const path = `/watched/${paths}`;
  web.script(path, ...versions.map((body) => page(body, { headers: { 'Content-Type': type } })));
  const source = await node.watch(web.url(path), fields);
  for (const _version of versions) await node.check([source.id]);
  return source;
}

/** The changes of a source, oldest first, once all were judged. */
function judged({ id }: WatchedSource): Promise<Event[]> {
  return eventually(async () => {
    const events = (await node.events(`event_type=changed&source=${id}`)).reverse();
    expect(events.every(({ is_noise }) => is_noise !== null)).toBe(true);
    return events;
  });
}

async function preview({ id }: WatchedSource, watch: Watch | null, more: object = {}) {
  const answer = await node.node.sendJson('POST', `/manage/sources/${id}/noise/preview`, { watch, ...more });
  expect(answer.status).toBe(200);
  return (await answer.json()) as NoisePreview;
}

const FEES = (fee: number, note: string, visits: number) => `<!doctype html><title>${note}</title>
  <div class="top"><h2>News</h2></div><p>${note}
  <div class="top"><h2>Fees</h2> <span>[edit]</span></div><p id="fee" class="v${visits}">Fee <b>${fee}</b> euros <i>${visits}</i><h3>Details</h3><p>yearly
  <h2>Contact</h2><p>${note}
  <table><caption>Prices</caption><tr><th>Item<th>Price<th>Seen<tr><td>Tea<td>${fee}<td>${note}</table>`;

describe('only the watched part of a page counts', () => {
  test.each<[string, Watch]>([
    ['a CSS selector', { css: '#fee' }],
    ['an XPath', { xpath: '//h2[contains(., "Fees")]/following::p[1]' }],
    ['a heading and what follows it', { heading: ' fees' }],
    ['columns of a table, by its caption', { table: 'Prices', columns: ['Item', 'price'] }],
    ['columns of a table, by its number', { table: 1, columns: ['Price'] }],
  ])('named by %s', async (_name, watch) => {
    const visits = { kind: 'selector', value: '#fee i', note: '' };
    const versions = [FEES(4, 'one', 1), FEES(4, 'two', 1), FEES(5, 'two', 1), FEES(5, 'two', 2)];
    const source = await watchVersions(versions, { watch, noise_rules: [visits] });
    const events = await judged(source);
    const isTable = 'table' in watch;
    expect(events.map(({ is_noise, outside }) => [is_noise, outside])).toEqual([
      [true, true],
      [false, false],
      // What a rule ignores within the part is noise; in the table, it is outside.
      [true, isTable],
    ]);
    const label = await node.events(`label=outside&source=${source.id}`);
    expect(label.map(({ id }) => id)).toEqual(
      (isTable ? [events[2], events[0]] : [events[0]]).map((event) => event?.id),
    );
    const news = await node.events(`noise=false&source=${source.id}`);
    expect(news.map(({ event_type }) => event_type)).toEqual(['changed', 'first_seen']);
    const diff = await node.read<Diff>(`/api/events/${events[1]?.id}/diff`);
    expect(JSON.stringify('hunks' in diff && diff.hunks)).not.toContain('two');
    expect(diff).toMatchObject({ noise: { watch: { outcome: 'applied' } }, summary: { added: 1 } });
    expect((await node.source(source.id)).watch_lost_at).toBeNull();
  });

  test.each<[string, string, Watch, string[]]>([
    [
      'values of JSON',
      'application/json',
      { json_path: '$.list[1].price' },
      [
        '{"at":1,"list":[{"price":1},{"price":2}]}',
        '{"at":2,"list":[{"price":9},{"price":2}]}',
        '{"at":2,"list":[{"price":9},{"price":3}]}',
      ],
    ],
    [
      'what a filter of JSON finds',
      'application/json',
      { json_path: '$.list[?@.id==2]' },
      [
        '{"list":[{"id":1,"n":1},{"id":2,"n":1}]}',
        '{"list":[{"id":2,"n":1}]}',
        '{"list":[{"id":1,"n":1},{"id":2,"n":2}]}',
      ],
    ],
    [
      'columns of CSV',
      'text/csv',
      { table: 1, columns: ['price'] },
      ['id,seen,price\na,1,2\n', 'id,seen,price\na,2,2\n', 'id,seen,price\na,2,3\n'],
    ],
    [
      'elements of XML',
      'application/rss+xml',
      { xpath: '/rss/item/dc:date' },
      [
        '<rss at="1"><n>1</n><item><dc:date>1</dc:date></item></rss>',
        '<rss at="2"><n>2</n><item><dc:date>1</dc:date></item></rss>',
        '<rss at="2"><n>2</n><item><dc:date>2</dc:date></item></rss>',
      ],
    ],
  ])('%s can be watched', async (_name, type, watch, versions) => {
    const events = await judged(await watchVersions(versions, { watch }, type));
    expect(events.map(({ outside }) => outside)).toEqual([true, false]);
    expect(events.map(({ is_noise }) => is_noise)).toEqual([true, false]);
  });
});

test('a part that a script draws is watched in the drawn page', async () => {
  const script = `fetch('/state.json').then((r) => r.json()).then(({ price, news }) => {
    document.body.innerHTML = '<p id="price">' + price + '</p><p>' + news + '</p>'; });`;
  const shell = (nonce: number) =>
    page(`<!doctype html><body data-nonce="${nonce}"><script>${script}</script>`, {
      headers: { 'Content-Type': 'text/html' },
    });
  const state = (price: number, news: string) =>
    page(JSON.stringify({ price, news }), { headers: { 'Content-Type': 'application/json' } });
  web.script('/drawn', shell(1), shell(2), shell(2));
  web.script('/state.json', state(1, 'a'), state(1, 'b'), state(2, 'b'));
  const source = await node.watch(web.url('/drawn'), { capture: 'page', watch: { css: '#price' } });
  for (let check = 0; check < 3; check += 1) await node.check([source.id]);
  const events = await judged(source);
  expect(events.map(({ observer, outside }) => [observer, outside])).toEqual([
    ['self', true],
    ['browser', true],
    ['browser', false],
  ]);
  const diff = await node.read<Diff>(`/api/events/${events[2]?.id}/diff`);
  expect(diff).toMatchObject({ kind: 'html', summary: { added: 1, removed: 1 } });
  expect((await node.source(source.id)).watch_lost_at).toBeNull();
  await node.node.sendJson('PATCH', `/manage/sources/${source.id}`, { watch: null });
  const shown = await preview(source, { css: '#price' });
  expect(shown.events.map(({ noise }) => noise?.outside)).toEqual([false, true, true]);
});

test('a part that is gone is said, every change counts until it is back, and so does that it is gone', async () => {
  const versions = [
    '<p id="a">1</p><p>x',
    '<p id="b">1</p><p>x',
    '<p id="b">1</p><p>y',
    '<p id="a">1</p><p>y',
  ];
  const source = await watchVersions(versions.slice(0, 3), { watch: { css: '#a' } });
  const untilLost = () =>
    eventually(async () => expect((await node.source(source.id)).watch_lost_at).not.toBeNull());
  await untilLost();
  expect((await judged(source)).map(({ is_noise }) => is_noise)).toEqual([false, false]);
  web.script(`/watched/${paths}`, page(versions[3] ?? ''));
  await node.check([source.id]);
  await eventually(async () => expect((await node.source(source.id)).watch_lost_at).toBeNull());
  expect((await judged(source)).map(({ is_noise }) => is_noise)).toEqual([false, false, false]);
  // A new part is looked for at once, in the version that is there.
  await node.node.sendJson('PATCH', `/manage/sources/${source.id}`, { watch: { heading: 'None' } });
  await untilLost();
});

test('a part is previewed over the versions that the archive holds, and applied to them', async () => {
  const versions = [1, 2, 3, 4].map((visits) => FEES(visits < 4 ? 4 : 5, 'one', visits));
  const source = await watchVersions(versions, {});
  const shown = await preview(source, { css: '#fee b' });
  expect(shown.events.map(({ noise }) => noise?.outside)).toEqual([false, true, true]);
  expect(shown.events[0]?.noise?.watch).toMatchObject({ outcome: 'applied', found: { from: 1, to: 1 } });
  const [newest] = shown.events;
  const one = await preview(source, { css: '#fee b' }, { event: newest?.event });
  expect(one.diff).toMatchObject({ summary: { added: 1, removed: 1 } });
  expect(shown.newest).toEqual({ watch: shown.events[0]?.noise?.watch, text: '5' });
  const nothing = await preview(source, { heading: 'None' });
  expect(nothing.newest?.watch?.found.to).toBe(0);
  expect(nothing.events[0]?.noise?.watch?.found).toEqual({ from: 0, to: 0 });

  const before = await node.read<LedgerVerification>('/api/ledger/verify');
  const watch = { css: '#fee b' };
  const changed = await node.node.sendJson('PATCH', `/manage/sources/${source.id}`, { watch });
  expect(((await changed.json()) as WatchedSource).watch).toEqual(watch);
  await node.node.sendJson('POST', `/manage/sources/${source.id}/noise`, undefined);
  expect((await judged(source)).map(({ outside }) => outside)).toEqual([true, true, false]);
  const after = await node.read<LedgerVerification>('/api/ledger/verify');
  expect(after).toMatchObject({ ok: true, size: before.size + 1 });
  const dump = await (await node.node.fetch('/api/dump.jsonl')).text();
  expect(dump).toContain('"watch":{"css":"#fee b"}');
  expect(dump).toMatch(/"kind":"event_noise",[^\n]*"outside":1/);
});

test.each<[object, string]>([
  [{ watch: { css: 'p[' } }, '/watch/css'],
  [{ watch: { xpath: '//p[' } }, '/watch/xpath'],
  [{ watch: { xpath: 'count(//p)' } }, '/watch/xpath'],
  [{ watch: { json_path: '$[' } }, '/watch/json_path'],
  [{ watch: { css: 'p', xpath: '//p' } }, '/watch'],
  [{ watch: { heading: '' } }, '/watch/heading'],
  [{ noise_rules: [{ kind: 'xpath', value: '//p[' }] }, '/noise_rules/0/value'],
  [{ noise_rules: [{ kind: 'heading', value: 'A', columns: ['b'] }] }, '/noise_rules/0/columns'],
])('%j is refused', async (fields, path) => {
  const answer = await node.node.sendJson('POST', '/manage/sources', { url: web.url('/refused'), ...fields });
  expect(answer.status).toBe(422);
  expect(((await answer.json()) as ProblemDocument).errors?.[0]?.path).toBe(path);
});

test('XPaths that each take nearly as long as they may are refused together, and hold nothing up', async () => {
  const slow = (at: number) => ({ kind: 'xpath', value: `//p[sum(1 to 200000) > ${at}]` });
  const noise_rules = Array.from({ length: 50 }, (_, at) => slow(at));
  const sent = { url: web.url('/slow'), noise_rules };
  const answer = Promise.withResolvers<Response>();
  const blocked = await maxBlockedCpu(async () =>
    answer.resolve(await node.node.sendJson('POST', '/manage/sources', sent)),
  );
  expect(blocked).toBeLessThan(MAX_BLOCKED_MS);
  const { status, errors = [] } = (await (await answer.promise).json()) as ProblemDocument;
  expect(status).toBe(422);
  const [error] = errors;
  expect(error).toMatchObject({ path: expect.stringMatching(/^\/noise_rules\/\d+\/value$/) as string });
  expect(error?.message).toContain('take too long');
});
