import { afterEach, describe, expect, test } from 'vitest';
import { sampleRecord, uploadPack } from '../../support/archive/packs.ts';
import {
  ledgerSize,
  ofBytes,
  openSharedNode,
  refusalOf,
  statuses,
  storedFiles,
  write,
} from '../../support/network/visitors.ts';
import { closeTestNodes } from '../../support/node.ts';

afterEach(closeTestNodes);

describe('storage limits (contract, section 5)', () => {
  test('a pack that would exceed data_cap_gb is 507, and nothing of it is stored', async () => {
    const node = await openSharedNode({ data_cap_gb: 0.000_1 });
    const refused = await uploadPack(node, sampleRecord(), ofBytes(100_001));
    expect([refused.status, (await refusalOf(refused)).code]).toEqual([507, 'data_cap_reached']);
    expect(await storedFiles(node)).toEqual([]);
    expect((await uploadPack(node, sampleRecord(), ofBytes(60_000))).status).toBe(201);
    const second = await uploadPack(node, sampleRecord({ title: 'Second' }), ofBytes(60_000, 'y'));
    expect(second.status).toBe(507);
    expect(await storedFiles(node)).toHaveLength(1);
    // Blobs that are already stored need no space.
    expect((await uploadPack(node, sampleRecord({ title: 'Third' }), ofBytes(60_000))).status).toBe(201);
  });

  test('of two concurrent packs that do not both fit, one is stored', async () => {
    const node = await openSharedNode({ data_cap_gb: 0.000_1 });
    const sent = ['a', 'b', 'c'].map((digit) =>
      uploadPack(node, sampleRecord({ title: digit }), ofBytes(60_000, digit)),
    );
    expect(await statuses(sent)).toEqual([201, 507, 507]);
    expect(await storedFiles(node)).toHaveLength(1);
  });

  test('a full archive accepts no writes', async () => {
    const node = await openSharedNode({ data_cap_gb: 0 });
    const refused = await write(node);
    expect([refused.status, (await refusalOf(refused)).code]).toEqual([507, 'data_cap_reached']);
    expect(await ledgerSize(node)).toBe(0);
  });

  test('with less than min_free_disk_gb free, every write is 507 disk_nearly_full', async () => {
    const node = await openSharedNode({ min_free_disk_gb: 1_000_000 });
    for (const refused of [await write(node), await uploadPack(node, sampleRecord(), ofBytes(10))]) {
      expect([refused.status, (await refusalOf(refused)).code]).toEqual([507, 'disk_nearly_full']);
    }
    expect(await storedFiles(node)).toEqual([]);
  });
});
