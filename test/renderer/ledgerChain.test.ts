import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ChainCheck } from '../../renderer/src/pages/ledger/chain.ts';
import type { LedgerEntry, LedgerHead } from '../../shared/ledger/ledger.ts';
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
