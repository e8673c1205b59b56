import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Diff } from '../../../shared/collection/diff.ts';
import { closeScriptedWebs, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../../support/node.ts';
import { pdfOf } from '../../support/pdf.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { type Change, collectChange, partsOf, readDiff } from './support.ts';

let web: ScriptedWeb;
let node: CollectingNode;

beforeEach(async () => {
  web = await ScriptedWeb.open();
  node = await openCollectingNode();
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

async function diffOf(change: Change): Promise<Diff> {
  return readDiff(node, await collectChange(node, web, change));
}

describe('comparing two versions', () => {
  test('reads a PDF page by page and applies noise rules to its text', async () => {
    const pages = (price: string, hour: number) =>
      pdfOf(['Tariffs', `Water costs ${price}`, `Made at ${hour}:00`]);
    const diff = await diffOf({
      type: 'application/pdf',
      from: pages('12', 10),
      to: pages('15', 11),
      noise_rules: [{ kind: 'pattern', value: 'Made at \\d+:\\d+' }],
    });
    expect(diff).toMatchObject({ kind: 'pdf', hunks: [{ page: 2 }], noise: { is_noise: false, ignored: 2 } });
    expect(partsOf(diff).filter(({ op }) => op !== 'same')).toEqual([
      { op: 'removed', text: '12' },
      { op: 'added', text: '15' },
    ]);
  });

  test('compares the bytes of PDFs that need a password', async () => {
    const locked = (text: string) => pdfOf([text], { isEncrypted: true });
    const diff = await diffOf({ type: 'application/pdf', from: locked('a'), to: locked('b') });
    expect(diff).toMatchObject({ kind: 'bytes', reason: expect.stringContaining('password') });
  });

  test('reads a page again in the encoding that it declares late', async () => {
    const version = (yen: string) =>
      Buffer.from(
        `<html><head><script>${'let unused;\n'.repeat(600)}</script><meta charset="Shift_JIS"></head>` +
          // 料金 in Shift_JIS.
          `<body><p>\x97\xbf\x8b\xe0 ${yen}</p></body></html>`,
        'latin1',
      );
    const diff = await diffOf({ type: 'text/html', from: version('101'), to: version('102') });
    expect(partsOf(diff).map(({ text }) => text)).toEqual(['料金 ', '101', '102']);
  });

  test('separates tab-separated values at tabs, even if the header has more commas', async () => {
    const diff = await diffOf({
      type: 'text/tab-separated-values',
      from: 'id\tdepth, width, height\n1\t2, 3, 4\n',
      to: 'id\tdepth, width, height\n1\t2, 3, 5\n',
    });
    expect(diff).toMatchObject({
      kind: 'csv',
      rows: [{ cells: [{ column: 'depth, width, height', before: '2, 3, 4', after: '2, 3, 5' }] }],
    });
  });

  test('decodes the content encoding; the stored bytes stay encoded', async () => {
    const compressed = (text: string) => gzipSync(Buffer.from(`<p>${text}`));
    const diff = await diffOf({
      type: 'text/html',
      from: compressed('old news'),
      to: compressed('new news'),
      headers: { 'Content-Encoding': 'gzip' },
    });
    expect(diff.kind).toBe('html');
    expect(diff.to.bytes).toBe(compressed('new news').length);
    expect(partsOf(diff)).toContainEqual({ op: 'added', text: 'new' });
  });

  test('decodes the character encoding', async () => {
    const latin = (text: string) => Buffer.from(text, 'latin1');
    const diff = await diffOf({
      type: 'text/plain; charset=iso-8859-1',
      from: latin('Die Höhe'),
      to: latin('Die Größe'),
    });
    expect(partsOf(diff)).toContainEqual({ op: 'added', text: 'Größe' });
  });

  test('recognises the kind by the bytes if the content type is uninformative', async () => {
    const diff = await diffOf({ type: 'application/octet-stream', from: '{"a":1}', to: '{"a":2}' });
    expect(diff).toMatchObject({ kind: 'json', changes: [{ op: 'changed', pointer: '/a' }] });
  });

  test('treats texts that differ only in their line ends as the same', async () => {
    const diff = await diffOf({ type: 'text/plain', from: 'a\nb\n', to: 'a\r\nb\r\n' });
    expect(diff).toMatchObject({ hunks: [], reason: expect.stringContaining('the same') });
  });
});
