import { PNG } from 'pngjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { plainLine } from '../../../server/collection/diff/summarize.ts';
import { openStore } from '../../../server/store/store.ts';
import { MAX_SUMMARY_CHARACTERS } from '../../../shared/collection/event.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING, temporaryFolder } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

let web: ScriptedWeb;
let node: CollectingNode;
let folder: string;
let paths = 0;

/** Each test has a source of its own. */
beforeAll(async () => {
  web = await ScriptedWeb.open();
  folder = await temporaryFolder();
  node = await openCollectingNode({}, { dataFolder: folder, ...DERIVING });
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/** A picture of 10 × 10 pixels of which the first `red` are red. */
function picture(red: number): Buffer {
  const png = new PNG({ width: 10, height: 10 });
  for (let at = 0; at < 100; at += 1) png.data.set([at < red ? 255 : 0, 0, 0, 255], at * 4);
  return PNG.sync.write(png);
}

async function change(
  type: string,
  versions: readonly (string | Buffer)[],
  fields: object = {},
): Promise<string> {
  paths += 1;
  web.script(`/${paths}`, ...versions.map((body) => page(body, { headers: { 'Content-Type': type } })));
  const { id } = await node.watch(web.url(`/${paths}`), fields);
  for (const _ of versions) await node.check([id]);
  return id;
}

/** The summary of every change of a source, newest first. */
async function summaries(source: string): Promise<(string | null | undefined)[]> {
  return (await node.summarizedEvents(`event_type=changed&source=${source}`)).map(({ summary }) => summary);
}

const LONG = 'All that was said of the sea is true. ';

describe('a change is summarized', () => {
  test.each<[string, string | Buffer, string | Buffer, string]>([
    ['text/html', '<p>It costs 120 euros.', '<p>It costs 145 euros.', '120 → 145 euros'],
    [
      'text/html',
      `<p>It costs 120 euros.<p>${LONG}`,
      `<p>It costs 145 euros.<p>${LONG}<p>And more of it too`,
      '120 → 145 euros, +6 −1 words',
    ],
    ['text/html', '<p class="a">Same', '<p class="b">Same', 'only the markup changed'],
    ['text/plain', `${LONG}old`, `${LONG}new`, '“old” → “new”'],
    ['text/plain', LONG, `${LONG}It was.`, '+2 words'],
    ['application/json', '{"price":120,"a":1}', '{"price":145,"a":1}', 'price: 120 → 145'],
    ['application/json', '[1]', '[1,2,3]', '2 values added'],
    ['text/csv', 'id,t\n1,a\n', 'id,t\n1,a\n2,b\n3,c\n4,d\n', '3 rows added'],
    ['text/csv', 'id,temp\n1,3\n2,4\n', 'id,temp\n1,5\n2,4\n', '“temp”: 3 → 5'],
    ['image/png', picture(0), picture(4), 'image differs in 4 %'],
    ['application/octet-stream', Buffer.from([0, 1, 2]), Buffer.from([0, 1]), '−1 byte'],
  ])('%s: %j to %j', async (type, from, to, expected) => {
    expect(await summaries(await change(type, [from, to]))).toEqual([expected]);
  });

  test('with the rule that called it noise, in the feed and the CSV, and not in the ledger or the dump', async () => {
    const rule = { kind: 'selector', value: '.clock', note: '' };
    const versions = ['<p>A<b class="clock">1</b>', '<p>A<b class="clock">2</b>'];
    const id = await change('text/html', versions, { noise_rules: [rule] });
    expect(await summaries(id)).toEqual(['Noise by the rule “.clock”']);
    const text = async (path: string) => (await node.node.fetch(path)).text();
    expect(await text('/api/events.atom')).toContain('(Noise by the rule “.clock”)');
    expect(await text('/api/events?format=csv')).toContain('Noise by the rule “.clock”');
    expect(await text('/api/dump.jsonl')).not.toContain('by the rule');
    expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true });
    // Under other rules it is another summary, made when the event is listed.
    await node.node.sendJson('PATCH', `/manage/sources/${id}`, { noise_rules: [] });
    expect(await summaries(id)).toEqual(['“A1” → “A2”']);
  });

  test('when an older event is listed, and its summary outlives a restart', async () => {
    const id = await change('text/plain', ['one two', 'one three']);
    expect(await summaries(id)).toEqual(['“two” → “three”']);
    await node.node.close();
    const store = await openStore({ folder, clock: systemClock });
    await store.write((database) => database.exec('DELETE FROM event_summaries'));
    await store.close();
    node = await openCollectingNode({}, { dataFolder: folder, ...DERIVING });
    expect(await summaries(id)).toEqual(['“two” → “three”']);
    await node.node.close();
    node = await openCollectingNode({}, { dataFolder: folder, ...DERIVING });
    expect((await node.events(`event_type=changed&summaries=true&source=${id}`))[0]?.summary).toBe(
      '“two” → “three”',
    );
  });

  test('in one bounded line without control and bidi characters, whatever the text', async () => {
    const hostile = '\u202e7 \u2066x\u2069\u200f\u0000\u009b31m\u2028<b>&amp;"\u200b';
    const id = await change('text/plain', [`${LONG}before end`, `${LONG}${hostile} end`]);
    const [summary] = await summaries(id);
    expect(summary).toMatch(/→/);
    expect(summary).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect((summary ?? '').length).toBeLessThanOrEqual(MAX_SUMMARY_CHARACTERS);
  });
});

test('a plain line is bounded by characters and keeps no piles of marks', () => {
  expect(plainLine(`a\r\n\tb\u2029c`, 20)).toBe('a b c');
  expect(plainLine('\ud83d\ude00'.repeat(30), 10)).toBe(`${'\ud83d\ude00'.repeat(9)}…`);
  expect(plainLine(`z${'\u0301'.repeat(50)}`, 20)).toBe('z\u0301\u0301');
  expect(plainLine('\ud800x', 20)).toBe('\ufffdx');
});
