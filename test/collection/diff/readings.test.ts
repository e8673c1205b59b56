import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Diff } from '../../../shared/diff.ts';
import { closeTestNodes } from '../../support/node.ts';
import { pdfOf } from '../../support/pdf.ts';
import { closeScriptedWebs, ScriptedWeb } from '../../support/scriptedWeb.ts';
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

describe('what two versions say is read', () => {
  test('page by page of a PDF, and a rule leaves out of it what it names', async () => {
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

  test('not at all of a PDF that asks for a password: then the bytes are compared', async () => {
    const locked = (text: string) => pdfOf([text], { isEncrypted: true });
    const diff = await diffOf({ type: 'application/pdf', from: locked('a'), to: locked('b') });
    expect(diff).toMatchObject({ kind: 'bytes', reason: expect.stringContaining('password') });
  });

  test('behind its content encoding, which stays as it is in what is stored', async () => {
    const packed = (text: string) => gzipSync(Buffer.from(`<p>${text}`));
    const diff = await diffOf({
      type: 'text/html',
      from: packed('old news'),
      to: packed('new news'),
      headers: { 'Content-Encoding': 'gzip' },
    });
    expect(diff.kind).toBe('html');
    expect(diff.to.bytes).toBe(packed('new news').length);
    expect(partsOf(diff)).toContainEqual({ op: 'added', text: 'new' });
  });

  test('in its own character encoding', async () => {
    const latin = (text: string) => Buffer.from(text, 'latin1');
    const diff = await diffOf({
      type: 'text/plain; charset=iso-8859-1',
      from: latin('Die Höhe'),
      to: latin('Die Größe'),
    });
    expect(partsOf(diff)).toContainEqual({ op: 'added', text: 'Größe' });
  });

  test('as what its bytes are, where its type says nothing', async () => {
    const diff = await diffOf({ type: 'application/octet-stream', from: '{"a":1}', to: '{"a":2}' });
    expect(diff).toMatchObject({ kind: 'json', changes: [{ op: 'changed', pointer: '/a' }] });
  });

  test('and only line ends differ: the text is the same', async () => {
    const diff = await diffOf({ type: 'text/plain', from: 'a\nb\n', to: 'a\r\nb\r\n' });
    expect(diff).toMatchObject({ hunks: [], reason: expect.stringContaining('the same') });
  });
});
