import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  compareCheckpoint,
  parseCheckpoint,
  type SavedCheckpoint,
} from '../../renderer/src/pages/ledger/checkpoint/compareCheckpoint.ts';
import { nodeKeyOf, privateKeyOfSeed, signCheckpoint } from '../../server/ledger/checkpoint.ts';
import type { ConsistencyProof, KeyChange, LedgerEntry, LedgerHead } from '../../shared/ledger/ledger.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;

beforeEach(async () => {
  node = await openTestNode();
});

afterEach(closeTestNodes);

/** Appends this many entries to the ledger, by adding sources. */
async function record(count: number): Promise<void> {
  const { head } = await readLedger();
  for (let number = head.seq; number < head.seq + count; number += 1)
    await node.sendJson('POST', '/manage/sources', { url: `http://127.0.0.1:9/${number}` });
}

async function readLedger(): Promise<{ items: LedgerEntry[]; head: LedgerHead }> {
  return (await (await node.fetch('/api/ledger?limit=500')).json()) as {
    items: LedgerEntry[];
    head: LedgerHead;
  };
}

async function readText(path: string): Promise<string> {
  return (await node.fetch(path)).text();
}

/** Parses a file as the page does. */
function opened(text: string): SavedCheckpoint {
  const parsed = parseCheckpoint(text);
  if ('refused' in parsed) throw new Error(parsed.refused);
  return parsed.saved;
}

/** Compares a saved file with the node, as the page does. */
async function check(saved: SavedCheckpoint, keyChanges: KeyChange[] = [], key?: string) {
  const { head } = await readLedger();
  const isWithin = saved.seq > 0 && saved.seq <= head.seq;
  const proof = isWithin
    ? ((await (
        await node.fetch(`/api/ledger/consistency?from=${saved.seq}&to=${head.seq}`)
      ).json()) as ConsistencyProof)
    : undefined;
  const verifierKey = (key ?? (await readText('/api/ledger/key'))).trim();
  const [name = ''] = verifierKey.split('+');
  return compareCheckpoint(saved, {
    node: name,
    key: verifierKey,
    keyChanges,
    head,
    proof,
  });
}

test('every checkpoint of the node is signed by it and begins every later ledger', async () => {
  const saved: string[] = [];
  for (let size = 0; size <= 9; size += 1) {
    saved.push(await readText('/api/ledger/checkpoint'));
    await record(1);
  }
  for (const [size, text] of saved.entries()) {
    expect(await check(opened(text))).toMatchObject({
      signer: { is: 'current' },
      differences: [],
      since: 10 - size,
      proven: size > 0,
      otherNode: false,
    });
  }
});

test('an altered checkpoint, one of another node and one by a former key are distinguished', async () => {
  await record(4);
  const text = await readText('/api/ledger/checkpoint');
  const altered = text.replace('\n4\n', '\n3\n');
  expect((await check(opened(altered))).signer).toEqual({ is: 'altered' });

  const key = nodeKeyOf('b.example', privateKeyOfSeed(Buffer.alloc(32, 7)));
  const foreign = signCheckpoint(key, { size: 4, root: Buffer.alloc(32, 1) });
  expect(await check(opened(foreign))).toMatchObject({ signer: { is: 'unknown' }, otherNode: true });

  const oldKey = (await readText('/api/ledger/key')).trim();
  const renewed = nodeKeyOf(oldKey.split('+')[0] ?? '', privateKeyOfSeed(Buffer.alloc(32, 9)));
  const change: KeyChange = {
    type: 'key.renewed',
    ledger_entry: 5,
    at: '2026-11-20T10:00:00.000Z',
    old_key: oldKey,
    new_key: renewed.verifierKey,
    signature: null,
  };
  expect((await check(opened(text), [change], renewed.verifierKey)).signer).toEqual({
    is: 'former',
    replacedBy: 5,
  });
  expect((await check(opened(text), [], renewed.verifierKey)).signer).toEqual({ is: 'unknown' });
});

test('a signed checkpoint over another root or more entries than there are is reported', async () => {
  await record(4);
  const key = nodeKeyOf('a.example', privateKeyOfSeed(Buffer.alloc(32, 7)));
  const signed = (size: number, fill: number) =>
    check(opened(signCheckpoint(key, { size, root: Buffer.alloc(32, fill) })), [], key.verifierKey);
  const other = await signed(3, 1);
  expect(other).toMatchObject({ signer: { is: 'current' }, proven: false });
  expect(other.differences).toEqual([expect.objectContaining({ saved: '01'.repeat(32) })]);
  expect((await signed(9, 1)).differences).toEqual([{ what: 'Number of entries', saved: '9', now: '4' }]);
});

test('a checkpoint that an editor saved with other line ends is still verified', async () => {
  const text = await readText('/api/ledger/checkpoint');
  for (const saved of [text.replaceAll('\n', '\r\n'), `\uFEFF${text}`, text.trimEnd()])
    expect((await check(opened(saved))).signer, saved).toEqual({ is: 'current' });
});

test('a file that is not a checkpoint is rejected', async () => {
  const text = await readText('/api/ledger/checkpoint');
  const root = text.split('\n')[2] ?? '';
  const broken = [
    'a shopping list',
    '{"format":"other"}',
    text.slice(0, text.indexOf('\n\n')),
    text.replace('\n0\n', '\n-1\n'),
    text.replace(root, root.slice(4)),
    text.replace('— ', '- '),
  ];
  for (const file of broken)
    expect(parseCheckpoint(file), file).toEqual({ refused: expect.stringContaining('not a checkpoint') });
});
