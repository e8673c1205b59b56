import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { restoreDump } from '../../server/dump/restoreDump.ts';
import { openStore } from '../../server/store/store.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { sampleRecord, sha256Of, uploadNewPack, uploadPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { audit, audits, damages, objectEntries, overwrite } from './support.ts';

afterEach(closeTestNodes);

test('damages and restorations are in the dump, so a restored archive has the same ledger head', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'first' });
  for (const bytes of ['First', 'first', 'FIRST']) {
    await overwrite(node.dataFolder, sha256Of('first'), bytes);
    await audit(node);
  }
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'dump.jsonl'), await (await node.fetch('/api/dump.jsonl')).text());
  const store = await openStore({ folder: join(folder, 'data'), clock: systemClock });
  await restoreDump(store, join(folder, 'dump.jsonl'));
  await store.close();
  const restored = await openTestNode({ dataFolder: join(folder, 'data') });
  expect(await objectEntries(restored)).toEqual(await objectEntries(node));
  expect(await damages(restored)).toEqual(await damages(node));
  expect(await audits(restored), 'audits are not in the dump').toEqual([]);
  expect((await uploadPack(restored, sampleRecord(), { 'a.txt': 'first' })).status).toBe(200);
  expect((await objectEntries(restored)).at(-1)).toMatchObject({ type: 'object.restored' });
});
