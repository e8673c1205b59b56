import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LedgerEntry } from '../../../shared/ledger/ledger.ts';
import { olderArchive } from '../../support/archive/olderArchive.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { runHere } from '../../support/runHere.ts';
import { type CollectingNode, openCollectingNode } from '../support.ts';
import { alter, problems } from './alteredArchive.ts';

let dataFolder: string;
let node: CollectingNode;

afterEach(closeTestNodes);

async function entries(): Promise<LedgerEntry[]> {
  return (await node.read<{ items: LedgerEntry[] }>('/api/ledger?limit=500')).items;
}

async function reopen(): Promise<void> {
  node = await openCollectingNode({}, { dataFolder });
}

describe('an archive of an earlier version', () => {
  beforeEach(async () => {
    dataFolder = join(await temporaryFolder(), 'older');
    await olderArchive(dataFolder);
  });

  async function total(path: string): Promise<number> {
    return (await node.read<{ total: number }>(path)).total;
  }

  test('opens completely, and one entry covers its retrievals', async () => {
    await reopen();
    const all = await entries();
    expect(all).toHaveLength(32);
    expect(all.at(-1)).toMatchObject({ type: 'retrievals.recorded', subject: '1-16' });
    expect(await problems(dataFolder)).toEqual([]);
    expect([await total('/api/packs'), await total('/api/events'), await total('/api/studies')]).toEqual([
      2, 12, 1,
    ]);
    const { items } = await node.read<{ items: { id: string }[] }>('/manage/sources');
    const covered = await Promise.all(items.map(({ id }) => node.retrievals(id)));
    expect(new Set(covered.flat().map(({ ledger_entry }) => ledger_entry))).toEqual(new Set([32]));
    await node.node.close();
    await reopen();
    expect(await entries()).toHaveLength(32);
  });

  test('covers new retrievals with a batch for each transaction', async () => {
    await reopen();
    await node.check();
    const added = (await entries()).slice(32).filter(({ type }) => type === 'retrievals.recorded');
    expect(added[0]?.subject).toMatch(/^17-/);
    expect(await problems(dataFolder)).toEqual([]);
  });

  test('is covered by every command that opens it for writing, and cannot be verified before', async () => {
    const verified = () => runHere(['ledger', 'verify', '--data', dataFolder]);
    expect(await verified()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('open it once with this version'),
    });
    await runHere(['audit', '--data', dataFolder]);
    expect(await verified()).toMatchObject({ code: 0, stderr: '' });
  });

  test('is verified for later alterations', async () => {
    await reopen();
    await node.node.close();
    alter(dataFolder, 'UPDATE retrievals SET status = 500 WHERE id = 4');
    expect((await problems(dataFolder)).map(({ subject }) => subject)).toEqual(['retrieval 4']);
  });
});
