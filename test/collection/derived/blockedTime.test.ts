import { writeFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { forkChild } from '../../../server/runtime/child.ts';
import { MAX_BLOCKED_MS, maxBlockedCpu } from '../../support/blockedCpu.ts';
import { eventually } from '../../support/eventually.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING, temporaryFolder } from '../../support/node.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';

/** What a watched address answers with does not hold up the node: neither its own work nor that of its processes. */

let web: ScriptedWeb;
let node: CollectingNode;

beforeEach(async () => {
  web = await ScriptedWeb.open();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const lines = (count: number, make: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => make(at)).join('\n');

test('keeps the addresses of a long list in short turns', async () => {
  node = await openCollectingNode();
  const sitemap = (links: number) =>
    page(`<urlset>${lines(links, (at) => `<url><loc>${web.url(`/page-${at}`)}</loc></url>`)}</urlset>`, {
      headers: { 'Content-Type': 'application/xml' },
    });
  // The first one loads and compiles what reads and writes.
  web.script('/list', sitemap(10), sitemap(20_000));
  await node.watch(web.url('/list'), { follow: { kind: 'sitemap', limit: 10_000, approve: true } });
  await node.check();
  expect(await maxBlockedCpu(() => node.check())).toBeLessThan(MAX_BLOCKED_MS);
  expect(await node.read('/manage/found?limit=1')).toMatchObject({ total: 10_000 });
});

test('indexes a text of as many different words as possible in short turns', async () => {
  node = await openCollectingNode({}, DERIVING);
  const plain = (body: string) => page(body, { headers: { 'Content-Type': 'text/plain' } });
  const word = (at: number) => ((at * 7_919) % 46_656).toString(36).padStart(3, 'z');
  const hostile = `${lines(49_000, word)}\n${'"'.repeat(800_000)}`;
  for (const number of [1, 2, 3]) {
    web.script(`/${number}`, plain('one'), plain(`${number}\n${hostile}`));
    await node.watch(web.url(`/${number}`));
  }
  await node.check();
  const found = (word: string) => node.read<{ total: number }>(`/api/search?q=${word}`);
  await eventually(async () => expect((await found('one')).total).toBe(3));
  const blocked = await maxBlockedCpu(async () => {
    await node.check();
    await eventually(async () => expect((await found(word(48_000))).total).toBe(3));
  });
  expect(blocked).toBeLessThan(MAX_BLOCKED_MS);
});

describe('a process that reads what was archived', () => {
  test('has a lower priority than the node', async () => {
    const script = join(await temporaryFolder(), 'priority.mjs');
    await writeFile(script, "import { getPriority } from 'node:os'; process.send(getPriority());");
    const { promise, resolve } = Promise.withResolvers<unknown>();
    forkChild({ script, heapMb: 64, onMessage: resolve, onEnd: () => {} });
    expect(await promise).toBeGreaterThan(getPriority());
  });
});
