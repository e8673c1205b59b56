import { rm } from 'node:fs/promises';
import { afterEach, expect, test } from 'vitest';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';
import { audit, audits, damages, fileOf, fixityOf, objectEntries, overwrite } from './support.ts';

afterEach(closeTestNodes);

const A = sha256Of('first');
const B = sha256Of('second');

async function nodeWithTwoFiles() {
  const node = await openTestNode();
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'first', 'b.txt': 'second' });
  return node;
}

test('an audit re-hashes every blob, records nothing if all are intact, and sets the time in the status', async () => {
  const node = await nodeWithTwoFiles();
  expect(await fixityOf(node)).toEqual({
    last_completed_audit_at: null,
    checked: 0,
    damaged_objects: 0,
    damaged: [],
  });
  expect(await audit(node)).toEqual({
    database: { ok: true, findings: [] },
    checked: 2,
    bytes: 11,
    damaged_objects: 0,
    damaged: [],
    restored_objects: 0,
    restored: [],
    unnamed_objects: 0,
    unnamed: [],
    lost_and_found_objects: 0,
    lost_and_found: [],
    foreign_files: 0,
    foreign: [],
  });
  const [record] = await audits(node);
  expect(record).toMatchObject({ started_by: 'owner', completed: true, checked: 2, bytes: 11, damaged: 0 });
  expect(await fixityOf(node)).toMatchObject({ last_completed_audit_at: record?.ended_at, checked: 2 });
  expect(await objectEntries(node)).toEqual([]);
});

test('changed and missing blobs are reported by each audit and recorded once', async () => {
  const node = await nodeWithTwoFiles();
  await overwrite(node.dataFolder, A, 'First');
  await rm(fileOf(node.dataFolder, B));
  const found = await audit(node);
  expect(found).toMatchObject({ checked: 2, damaged_objects: 2, restored: [] });
  expect(await audit(node), 'the second audit').toEqual(found);
  const bySize = Object.fromEntries(found.damaged.map((damage) => [damage.sha256, damage]));
  expect(bySize[A]).toMatchObject({
    problem: 'changed',
    found: sha256Of('First'),
    bytes: 5,
    restored_at: null,
  });
  expect(bySize[B]).toMatchObject({ problem: 'missing', found: null, bytes: 6 });
  const entries = await objectEntries(node);
  expect(entries.map(({ type, subject }) => [type, subject])).toEqual(
    [A, B].toSorted().map((sha256) => ['object.damaged', sha256]),
  );
  const { damaged, damaged_objects } = await fixityOf(node);
  expect(damaged_objects).toBe(2);
  expect(damaged.find(({ sha256 }) => sha256 === A)).toEqual({
    sha256: A,
    bytes: 5,
    problem: 'changed',
    found: sha256Of('First'),
    since: bySize[A]?.at,
    ledger_entry: bySize[A]?.ledger_entry,
  });
});

test('the ledger digests of a damage and its repair can be recomputed', async () => {
  const node = await nodeWithTwoFiles();
  await overwrite(node.dataFolder, A, 'First');
  await audit(node);
  await overwrite(node.dataFolder, A, 'first');
  expect(await audit(node)).toMatchObject({ damaged_objects: 0, restored_objects: 1, restored: [A] });
  const [damage] = await damages(node);
  const [damaged, restored] = await objectEntries(node);
  const { sha256, bytes, problem, found, at } = damage ?? {};
  expect(damaged).toMatchObject({ seq: damage?.ledger_entry, type: 'object.damaged', at });
  expect(damaged?.digest).toBe(sha256Of(canonicalText({ sha256, bytes, problem, found, at })));
  expect(restored).toMatchObject({
    seq: damage?.restored_entry,
    type: 'object.restored',
    at: damage?.restored_at,
  });
  expect(restored?.digest).toBe(
    sha256Of(canonicalText({ sha256, damage: damage?.ledger_entry, at: damage?.restored_at })),
  );
  expect(await fixityOf(node)).toMatchObject({ damaged_objects: 0, damaged: [] });
});

test('a blob that is damaged again gets a new damage', async () => {
  const node = await nodeWithTwoFiles();
  for (const bytes of ['First', 'first', 'FIRST']) {
    await overwrite(node.dataFolder, A, bytes);
    await audit(node);
  }
  expect((await damages(node)).map(({ found, restored_at }) => [found, restored_at === null])).toEqual([
    [sha256Of('FIRST'), true],
    [sha256Of('First'), false],
  ]);
  expect((await objectEntries(node)).map(({ type }) => type)).toEqual([
    'object.damaged',
    'object.restored',
    'object.damaged',
  ]);
});

test('without wait, an audit is a job that can be cancelled; a second request returns the same job', async () => {
  const node = await nodeWithTwoFiles();
  const [first, second] = await Promise.all(
    [1, 2].map(async () => (await node.fetchAsOwner('/manage/audits', { method: 'POST' })).json()),
  );
  expect(first).toMatchObject({ kind: 'audit', state: 'running', progress: { unit: 'bytes' } });
  expect((second as { id: string }).id).toBe((first as { id: string }).id);
  const path = `/manage/jobs/${(first as { id: string }).id}`;
  expect(await (await node.fetchAsOwner(path, { method: 'DELETE' })).json()).toMatchObject({
    state: 'cancelled',
  });
  expect(await audits(node)).toMatchObject([{ started_by: 'owner', completed: false }]);
  expect(await fixityOf(node), 'it was cancelled').toMatchObject({ last_completed_audit_at: null });
  expect(await audit(node)).toMatchObject({ checked: 2 });
});

test('only the owner can start and list audits; the damages are public', async () => {
  const node = await nodeWithTwoFiles();
  expect((await node.fetch('/manage/audits', { method: 'POST' })).status).toBe(401);
  expect((await node.fetch('/manage/audits')).status).toBe(401);
  expect((await node.fetch('/api/damages?limit=1')).status).toBe(200);
  expect((await node.fetch('/api/damages?since=1')).status).toBe(400);
});
