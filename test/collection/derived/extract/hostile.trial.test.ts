import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maxBlockedCpu } from '../../../support/blockedCpu.ts';
import { closeScriptedWebs } from '../../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../../support/node.ts';
import { TextNode } from '../support.ts';

/** Anything may be archived: the process that reads it survives or is replaced, and the node keeps answering. */

let texts: TextNode;

beforeAll(async () => {
  texts = await TextNode.open();
  // Loads and compiles what answers, which the first measurement would otherwise include.
  await texts.textOf('<p>warm', 'text/html');
  const damaged = await texts.archive('%PDF-1.7\n', { 'Content-Type': 'application/pdf' });
  expect(await (await texts.ask(damaged)).json()).toMatchObject({ code: 'not_derivable' });
  expect((await texts.node.node.fetch('/api/health')).status).toBe(200);
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const MAX_BLOCKED_MS = 500;
const MB = 1_000_000;
const ENTITIES = Array.from({ length: 10 }, (_, at) => `<!ENTITY e${at + 1} "${`&e${at};`.repeat(10)}">`);

/** Compresses thirty times as fast; the result still decompresses to five thousand times its size. */
const QUICK = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** The bodies are made when they are needed, because they would stay in memory with the module. */
const HOSTILE: [string, () => string | Buffer, string, string | undefined][] = [
  ['HTML nested 100,000 deep', () => `${'<div>'.repeat(100_000)}deep`, 'text/html', undefined],
  ['HTML of 50 MB', () => 'word <b>word</b> '.repeat(3_000_000), 'text/html', undefined],
  ['HTML with one attribute of 50 MB', () => `<a href="${'x'.repeat(50 * MB)}`, 'text/html', undefined],
  ['HTML whose elements exceed the memory limit', () => '<p>'.repeat(3 * MB), 'text/html', undefined],
  ['a CSV line of 100 MB', () => 'a,'.repeat(49 * MB), 'text/csv', undefined],
  ['an unclosed quote in CSV', () => `"${'a,'.repeat(20 * MB)}`, 'text/csv', undefined],
  ['JSON nested 1,000,000 deep', () => '['.repeat(MB), 'application/json', undefined],
  ['JSON with one string of 50 MB', () => `"${'x'.repeat(50 * MB)}"`, 'application/json', undefined],
  [
    'XML whose entities expand a billionfold',
    () => `<!DOCTYPE a [<!ENTITY e0 "lol">${ENTITIES.join('')}]><a>&e10;</a>`,
    'text/xml',
    undefined,
  ],
  ['XML nested 100,000 deep', () => `${'<a>'.repeat(100_000)}deep`, 'application/xml', undefined],
  ['a gzip bomb', () => gzipSync(Buffer.alloc(500 * MB), { level: 1 }), 'text/html', 'gzip'],
  ['a Brotli bomb', () => brotliCompressSync(Buffer.alloc(200 * MB), QUICK), 'text/html', 'br'],
  ['a Zstandard bomb', () => zstdCompressSync(Buffer.alloc(500 * MB)), 'text/html', 'zstd'],
  [
    'a PDF of garbage',
    () => Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(20 * MB, 'obj <<')]),
    'application/pdf',
    undefined,
  ],
];

describe('hostile objects', () => {
  test.each(HOSTILE)(
    '%s: limits or refuses the text, and the node keeps answering',
    async (_title, make, type, encoding) => {
      const headers = { 'Content-Type': type, ...(encoding && { 'Content-Encoding': encoding }) };
      const digest = await texts.archive(make(), headers);
      const pending = texts.ask(digest);
      const longest = await maxBlockedCpu(async () => {
        expect((await texts.node.node.fetch('/api/health')).status).toBe(200);
        await pending;
      });
      const answer = await pending;
      const text = await answer.text();
      if (answer.status !== 200) {
        expect(JSON.parse(text)).toMatchObject({
          code: 'not_derivable',
          reason: expect.stringMatching(/^(too_large|damaged|out_of_memory|time_out)$/),
        });
      }
      expect(text.length).toBeLessThan(4 * MB);
      // The node is in this process, and its event loop does none of the extraction, which takes seconds.
      expect(longest).toBeLessThan(MAX_BLOCKED_MS);
    },
  );

  test('reads the next object normally after all of them', async () => {
    expect((await texts.textOf('<p>still here', 'text/html')).text).toBe('still here');
  });

  test('does not read a local file named by an XML entity', async () => {
    const body = '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>[&e;]</a>';
    expect((await texts.textOf(body, 'text/xml')).text).toBe('[&e;]');
  });
});
