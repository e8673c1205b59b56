import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { objectEntries, overwrite } from '../fixity/support.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

afterEach(closeTestNodes);

const A = sha256Of('first');

test('re-hashes a folder that no node has open, records the findings, and exits with 1 if anything is damaged', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'first', 'b.txt': 'second' });
  await node.close();
  const { dataFolder } = node;
  const intact = await runHere(['audit', '--data', dataFolder]);
  expect(intact).toMatchObject({ code: 0, stdout: 'Everything is intact: 2 objects, 11 bytes.\n' });
  await overwrite(dataFolder, A, 'First');
  const damaged = await runHere(['audit', '--data', dataFolder, '--json']);
  expect(damaged.code).toBe(1);
  expect(JSON.parse(damaged.stdout)).toEqual({
    ok: false,
    database: { ok: true, findings: [] },
    checked: 2,
    bytes: 11,
    damaged_objects: 1,
    damaged: [{ sha256: A, bytes: 5, problem: 'changed', found: sha256Of('First') }],
    restored: [],
    unnamed_objects: 0,
    unnamed: [],
    lost_and_found_objects: 0,
    lost_and_found: [],
    foreign_files: 0,
    foreign: [],
    recorded: true,
  });
  await overwrite(dataFolder, A, 'first');
  const restored = await runHere(['audit', '--data', dataFolder]);
  expect(restored).toMatchObject({ code: 0 });
  expect(restored.stdout).toContain(`${A}: its bytes are intact again.`);
  const again = await openTestNode({ dataFolder });
  expect((await objectEntries(again)).map(({ type }) => type)).toEqual(['object.damaged', 'object.restored']);
});

test('is done by the node that has the folder open', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'first' });
  await overwrite(node.dataFolder, A, 'First');
  const { code, stderr } = await runHere(['audit', '--data', node.dataFolder]);
  expect(code).toBe(1);
  expect(stderr).toContain(`${A}: its bytes were changed`);
  expect((await objectEntries(node)).map(({ type }) => type)).toEqual(['object.damaged']);
});

test('exits with 2 if the folder holds no archive', async () => {
  const folder = join(await temporaryFolder(), 'none');
  const { code, stdout, stderr } = await runHere(['audit', '--data', folder, '--json']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('There is no archive in');
});
