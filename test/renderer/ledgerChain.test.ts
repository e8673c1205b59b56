import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ChainCheck } from '../../renderer/src/pages/ledger/chain.ts';
import {
  checkpointOf,
  compareCheckpoint,
  parseCheckpoint,
  type SavedCheckpoint,
} from '../../renderer/src/pages/ledger/checkpointFile.ts';
import type { ConsistencyProof, LedgerEntry, LedgerHead } from '../../shared/ledger/ledger.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

const NODE = 'a.example';
const AT = '2026-11-20T10:00:00.000Z';
let node: TestNode;

beforeEach(async () => {
  node = await openTestNode();
});

afterEach(closeTestNodes);

/** Appends this many entries to the ledger, by adding sources. */
async function record(count: number): Promise<void> {
  const { head } = await readLedger();
  for (let number = head.seq; number < head.seq + count; number += 1)
    await node.sendJson('POST', '/manage/sources', {
      url: `http://127.0.0.1:9/${number}`,
      name: `Größe ${number}`,
    });
}

async function readLedger(): Promise<{ items: LedgerEntry[]; head: LedgerHead }> {
  return (await (await node.fetch('/api/ledger?limit=500')).json()) as {
    items: LedgerEntry[];
    head: LedgerHead;
  };
}

async function proofFrom(seq: number, to: number): Promise<ConsistencyProof> {
  return (await (
    await node.fetch(`/api/ledger/consistency?from=${seq}&to=${to}`)
  ).json()) as ConsistencyProof;
}

/** Compares a saved head with the node, as the page does. */
async function hold(saved: SavedCheckpoint) {
  const { items, head } = await readLedger();
  const isWithin = saved.seq > 0 && saved.seq <= head.seq;
  const proof = isWithin ? await proofFrom(saved.seq, head.seq) : undefined;
  return compareCheckpoint(saved, { node: NODE, head, entry: items[saved.seq - 1], proof });
}

describe('the browser recomputes the ledger', () => {
  test('the hash and root match the node’s for every ledger size', async () => {
    for (let size = 0; size <= 9; size += 1) {
      const { items, head } = await readLedger();
      const check = new ChainCheck();
      for (const entry of items) check.add(entry);
      check.end(head);
      expect(check.faults).toEqual([]);
      expect({ seq: check.size, hash: check.hash, root: check.root() }).toEqual(head);
      await record(1);
    }
  });

  test('an altered entry, a missing entry and a false head are reported', async () => {
    await record(5);
    const { items, head } = await readLedger();
    const faultsOf = (entries: LedgerEntry[], announced = head) => {
      const check = new ChainCheck();
      for (const entry of entries) check.add(entry);
      check.end(announced);
      return check.faults.map(({ seq, fault }) => [seq, fault]);
    };
    const altered = items.map((entry) => (entry.seq === 3 ? { ...entry, subject: 'so_other' } : entry));
    expect(faultsOf(altered)).toEqual([
      [3, 'The content does not match the hash.'],
      [5, 'The node announced a different root.'],
    ]);
    expect(faultsOf(items.filter(({ seq }) => seq !== 2))).toEqual([
      [3, 'An entry is missing before this one.'],
      [3, 'The entry does not link to the previous entry.'],
      [5, 'The node announced a different root.'],
    ]);
    expect(faultsOf(items, { ...head, hash: head.root })).toEqual([
      [5, 'The node announced a different hash for the last entry.'],
    ]);
    expect(faultsOf(items.slice(0, 4))).toEqual([[5, 'The node announced more entries than it has.']]);
  });
});

describe('a checkpoint is compared with the ledger', () => {
  test('the node proves that the saved ledger is the beginning of any later one', async () => {
    const heads: LedgerHead[] = [];
    for (let size = 1; size <= 9; size += 1) {
      await record(1);
      heads.push((await readLedger()).head);
    }
    for (const head of heads) {
      const found = await hold(checkpointOf(head, NODE, AT));
      expect(found).toMatchObject({ differences: [], since: 9 - head.seq, proven: true, otherNode: false });
    }
  });

  test('a different hash, a different root and a shorter ledger are reported with both values', async () => {
    await record(4);
    const { head } = await readLedger();
    await record(3);
    const saved = checkpointOf(head, NODE, AT);
    const other = 'a'.repeat(64);
    const hashes = (await hold({ ...saved, hash: other })).differences;
    expect(hashes).toContainEqual({ what: 'Hash of entry 4', saved: other, now: head.hash });
    const roots = await hold({ ...saved, root: other });
    expect(roots.proven).toBe(false);
    expect(roots.differences).toEqual([expect.objectContaining({ saved: other })]);
    expect((await hold({ ...saved, seq: 9 })).differences).toEqual([
      { what: 'Number of entries', saved: '9', now: '7' },
    ]);
    expect((await hold({ ...saved, node: 'b.example' })).otherNode).toBe(true);
  });

  test('a file that is not a checkpoint is rejected with the reason', () => {
    expect(parseCheckpoint('no JSON')).toEqual({ refused: expect.stringContaining('not JSON') });
    expect(parseCheckpoint('{"format":"other"}')).toEqual({ refused: expect.stringContaining('format') });
    const saved = checkpointOf({ seq: 1, hash: 'b'.repeat(64), root: 'c'.repeat(64) }, NODE, AT);
    expect(parseCheckpoint(JSON.stringify(saved))).toEqual({ head: saved });
    expect(parseCheckpoint(JSON.stringify({ ...saved, hash: 'B'.repeat(64) }))).toEqual({
      refused: expect.stringContaining('hash'),
    });
  });
});
