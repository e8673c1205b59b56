import { gzipSync } from 'node:zlib';
import { PNG } from 'pngjs';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { closeScriptedWebs, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { collectChange, diffWhileAlive, expectAlive, MAX_BLOCKED_MS, type Version } from './support.ts';

let web: ScriptedWeb;
let node: CollectingNode;

beforeAll(async () => {
  // Loads and compiles what answers, which the first measurement would otherwise include.
  await open();
  await diffWhileAlive(node, await change('text/plain', 'one', 'another'));
  expect((await node.node.fetch('/api/events/999/diff')).status).toBe(404);
  await close();
});
beforeEach(open);
afterEach(close);

async function open(): Promise<void> {
  web = await ScriptedWeb.open();
  node = await openCollectingNode();
}

async function close(): Promise<void> {
  await closeTestNodes();
  await closeScriptedWebs();
}

function change(type: string, from: Version, to: Version, noise_rules: object[] = []): Promise<number> {
  return collectChange(node, web, { type, from, to, noise_rules });
}

const lines = (seed: number, count: number) =>
  Array.from(
    { length: count },
    (_, line) => `${seed} line ${(line * 7_919) % 1_000_003} of some words and more`,
  ).join('\n');

describe('compares a hostile change within limits while the node keeps answering:', () => {
  test('two texts of 20 MB with nothing in common', async () => {
    const event = await change('text/plain', lines(1, 500_000), lines(2, 500_000));
    const watched = await diffWhileAlive(node, event);
    const { diff, text } = watched;
    expect(diff).toMatchObject({ kind: 'text', summary: { unit: 'whole' }, truncated: true });
    expect(diff.reason).toContain('too little in common');
    expect(text.length).toBeLessThan(200_000);
    expectAlive(watched);
  });

  test('JSON of 25 MB in which every value changed', async () => {
    const list = (from: number) =>
      `[${Array.from({ length: 900_000 }, (_, n) => `{"id":${n},"v":${n + from}}`).join(',')}]`;
    const watched = await diffWhileAlive(node, await change('application/json', list(1), list(2)));
    const { diff, text } = watched;
    expect(['json', 'bytes']).toContain(diff.kind);
    if (diff.kind === 'json') expect(diff.summary.changed).toBe(900_000);
    else expect(diff.reason).toMatch(/took too long|(took|used) too much memory/);
    expect(text.length).toBeLessThan(1_500_000);
    expectAlive(watched);
  });

  test('two objects of 40 MB, by their bytes', async () => {
    const large = (end: string) => Buffer.concat([Buffer.alloc(40_000_000, 'a'), Buffer.from(end)]);
    const watched = await diffWhileAlive(node, await change('text/plain', large('b'), large('cc')));
    const { diff } = watched;
    expect(diff).toMatchObject({
      kind: 'bytes',
      reason: expect.stringContaining('larger than 33 MB'),
      summary: { length_change: 1, first_difference: 40_000_000 },
    });
    // It may be done before many requests could be answered.
    expect(watched.blocked).toBeLessThan(MAX_BLOCKED_MS);
  });

  test('JSON nested a hundred thousand times', async () => {
    const nested = (inside: string) => '['.repeat(100_000) + inside + ']'.repeat(100_000);
    const { diff } = await diffWhileAlive(node, await change('application/json', nested('1'), nested('2')));
    expect(diff).toMatchObject({ kind: 'text', reason: expect.stringContaining('nested too deeply') });
  });

  test('images of 50,000 by 50,000 pixels', async () => {
    const huge = (grey: number) => {
      const image = new PNG({ width: 1, height: 1 });
      image.data.fill(grey);
      const bytes = PNG.sync.write(image);
      bytes.writeUInt32BE(50_000, 16);
      bytes.writeUInt32BE(50_000, 20);
      return bytes;
    };
    const watched = await diffWhileAlive(node, await change('image/png', huge(0), huge(255)));
    const { diff } = watched;
    expect(diff).toMatchObject({ kind: 'bytes', reason: expect.stringContaining('million pixels') });
    // It is refused before many requests could be answered.
    expect(watched.blocked).toBeLessThan(MAX_BLOCKED_MS);
  });

  test('a page that is a decompression bomb', async () => {
    const bomb = (letter: string) => gzipSync(Buffer.alloc(200_000_000, letter));
    const headers = { 'Content-Encoding': 'gzip' };
    const versions = { from: bomb('a'), to: bomb('b') };
    const event = await collectChange(node, web, { type: 'text/plain', ...versions, headers });
    const { diff } = await diffWhileAlive(node, event);
    expect(diff).toMatchObject({ kind: 'bytes', reason: expect.stringContaining('larger than') });
  });

  test('rules that match everything, deeply nested', async () => {
    const nested = (end: string, deep: number) => `${'<div>'.repeat(deep)}${end}${'</div>'.repeat(deep)}`;
    const selector = [{ kind: 'selector', value: 'div' }];
    const page = await change('text/html', nested('a', 400), nested('b', 400), selector);
    expect((await diffWhileAlive(node, page)).diff.noise).toMatchObject({ is_noise: true, ignored: 2 });
    const deepPage = await change('text/html', nested('a', 20_000), nested('b', 20_000), selector);
    expect((await diffWhileAlive(node, deepPage)).diff).toMatchObject({ noise: { is_noise: false } });
    const json = (end: string) => `${'{"a":['.repeat(200)}"${end}"${']}'.repeat(200)}`;
    const rules = [{ kind: 'json_path', value: '$..*' }];
    const event = await change('application/json', json('a'), json('b'), rules);
    expect((await diffWhileAlive(node, event)).diff.noise).toMatchObject({ is_noise: true, ignored: 2 });
  });

  test('a rule with exponential backtracking, which is reported as timed out and marks nothing', async () => {
    const hostile = { kind: 'pattern', value: '^(\\w+\\s?)*$' };
    const text = `${'word '.repeat(40)}!`;
    const event = await change('text/plain', `${text} 1`, `${text} 2`, [hostile]);
    const watched = await diffWhileAlive(node, event);
    const { diff } = watched;
    expect(diff.noise).toMatchObject({ is_noise: false, rules: [{ outcome: 'timed_out' }] });
    expect(diff.summary).toMatchObject({ added: 1, removed: 1 });
    expectAlive(watched);
  });

  test('several pages that take half a minute each, which do not delay other sources', async () => {
    // Longer than by default, so that a slow machine compares the plain page in time too, and half a minute is longer
    // than the three together.
    node = await openCollectingNode({}, { quickMs: 4_000 });
    const nested = (end: string) => `${'<div>'.repeat(400_000)}${end}`;
    const plain = await change('text/html', '<p>one word', '<p>another word');
    const hostile: number[] = [];
    for (const end of ['a', 'b', 'c'])
      hostile.push(await change('text/html', nested(end), nested(`${end}!`)));
    let pending = hostile.length;
    const requests = hostile.map((event) =>
      node.node.fetch(`/api/events/${event}/diff`).finally(() => {
        pending -= 1;
      }),
    );
    const watched = await diffWhileAlive(node, plain);
    const { diff } = watched;
    expect(diff).toMatchObject({ kind: 'html', summary: { added: 1, removed: 1 } });
    // A single process would handle the requests one after the other, in order.
    expect(pending).toBe(hostile.length);
    expectAlive(watched);
    await node.node.close();
    await Promise.allSettled(requests);
  });

  test('a selector that searches everywhere, in elements nested two thousand deep', async () => {
    const deep = (end: string) => `${'<div><p>'.repeat(2_000)}${end}${'</p></div>'.repeat(2_000)}`;
    const rules = [{ kind: 'selector', value: Array.from({ length: 12 }, () => 'div').join(' ~ * ') }];
    const watched = await diffWhileAlive(node, await change('text/html', deep('a'), deep('b'), rules));
    const { diff } = watched;
    expect(diff.noise.is_noise).toBe(false);
    expectAlive(watched);
  });
});
