import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Pack } from '../../../shared/archive/pack.ts';
import { draftFilesOnDisk, newDraft, publish, putFile, readDraft } from '../../support/archive/drafts.ts';
import { problemOf, sampleRecord, sha256Of, uploadNewPack } from '../../support/archive/packs.ts';
import { temporaryFiles } from '../../support/archive/uploads.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';

afterEach(closeTestNodes);

const ledgerSize = async (node: TestNode) =>
  ((await (await node.fetch('/api/ledger')).json()) as { total: number }).total;

test('publishing makes the pack that an upload would make, and ends the draft', async () => {
  const node = await openTestNode();
  const files = { 'b.txt': 'second', 'a/ü.csv': 'a,b\n' };
  const { id } = await newDraft(node, sampleRecord({ title: 'From a draft' }), { typed: true });
  for (const [path, content] of Object.entries(files)) await putFile(node, id, path, content);
  const response = await publish(node, id);
  const pack = (await response.json()) as Pack;
  expect([response.status, response.headers.get('Location')]).toEqual([201, `/api/packs/${pack.id}`]);
  expect(pack.files.map(({ path, sha256 }) => [path, sha256])).toEqual([
    ['a/ü.csv', sha256Of('a,b\n')],
    ['b.txt', sha256Of('second')],
  ]);
  expect(await (await node.fetch(`/api/blobs/${sha256Of('second')}`)).text()).toBe('second');
  expect(await (await node.fetch(`/api/packs/${pack.id}/verify`)).json()).toMatchObject({ ok: true });
  expect([await draftFilesOnDisk(node), await temporaryFiles(node)]).toEqual([[], []]);
  expect(await (await node.fetchAsOwner('/manage/drafts')).json()).toMatchObject({ total: 0 });
  expect(await readDraft(node, id)).toMatchObject({ pack: pack.id, record: {}, form: null, files: [] });
  const change = await node.sendJson('PATCH', `/manage/drafts/${id}`, { record: {} });
  expect(await problemOf(change)).toMatchObject({ code: 'draft_published', pack: pack.id });
});

test('with a revision, a draft is published only if nobody changed its record since', async () => {
  const node = await openTestNode();
  const { id } = await newDraft(node, sampleRecord({ title: 'Seen' }));
  await node.sendJson('PATCH', `/manage/drafts/${id}`, { record: sampleRecord({ title: 'Unseen' }) });
  const publishing = (revision: string) =>
    node.fetchAsOwner(`/manage/drafts/${id}/publish?revision=${revision}`, { method: 'POST' });
  expect(await problemOf(publishing('1'))).toMatchObject({ status: 409, code: 'draft_changed' });
  expect(await problemOf(publishing('x'))).toMatchObject({ code: 'invalid_parameter' });
  expect(await readDraft(node, id)).toMatchObject({ pack: null, revision: 2 });
  expect(await (await publishing('2')).json()).toMatchObject({ title: 'Unseen' });
});

test('with a revision, a draft with a file that was added, replaced, renamed or removed since is not published', async () => {
  const node = await openTestNode();
  const { id } = await newDraft(node, sampleRecord({ title: 'Files too' }));
  const publishing = (revision: number) =>
    node.fetchAsOwner(`/manage/drafts/${id}/publish?revision=${revision}`, { method: 'POST' });
  const changes: (() => Promise<unknown>)[] = [
    () => putFile(node, id, 'a', 'first'),
    () => putFile(node, id, 'a', 'second'),
    () => node.sendJson('PATCH', `/manage/drafts/${id}/files`, { rename: [{ from: 'a', to: 'b' }] }),
    () => node.sendJson('PATCH', `/manage/drafts/${id}/files`, { remove: ['b'] }),
  ];
  for (const change of changes) {
    const { revision } = await readDraft(node, id);
    await change();
    expect(await problemOf(publishing(revision))).toMatchObject({ status: 409, code: 'draft_changed' });
  }
  const seen = await putFile(node, id, 'c', 'third');
  expect(await readDraft(node, id)).toMatchObject({ pack: null, revision: seen.revision });
  expect(await (await publishing(seen.revision)).json()).toMatchObject({ title: 'Files too' });
});

test('a repeated publish, at once or after a restart, gives the same pack and writes nothing', async () => {
  const node = await openTestNode();
  const { id } = await newDraft(node, sampleRecord({ title: 'Once' }));
  await putFile(node, id, 'a', 'contents');
  const answers = await Promise.all([publish(node, id), publish(node, id), publish(node, id)]);
  expect(answers.map(({ status }) => status).sort((left, right) => left - right)).toEqual([200, 200, 201]);
  const ids = await Promise.all(answers.map(async (each) => ((await each.json()) as Pack).id));
  expect(new Set(ids).size).toBe(1);
  await node.close();
  const again = await openTestNode({ dataFolder: node.dataFolder });
  const late = await publish(again, id);
  expect([late.status, ((await late.json()) as Pack).id]).toEqual([200, ids[0]]);
  expect(await ledgerSize(again)).toBe(1);
});

test('an invalid record is refused as in an upload, and the draft stays whole', async () => {
  const node = await openTestNode();
  const { id } = await newDraft(node, { ...sampleRecord(), license: 'none' });
  await putFile(node, id, 'a', 'contents');
  expect(await problemOf(publish(node, id))).toMatchObject({
    code: 'invalid_field',
    errors: [{ path: '/license' }],
  });
  const noTerms = await newDraft(node, { ...sampleRecord(), terms_version: undefined });
  expect(await problemOf(publish(node, noTerms.id))).toMatchObject({ code: 'terms_not_accepted' });
  expect((await readDraft(node, id)).files).toMatchObject([{ path: 'a', contents: 'kept' }]);
  expect([await ledgerSize(node), await temporaryFiles(node)]).toEqual([0, []]);
});

test('a damaged or missing file is refused with its path; added again, the draft is published', async () => {
  const node = await openTestNode();
  const { id } = await newDraft(node, sampleRecord({ title: 'Damaged' }));
  const damaged = await putFile(node, id, 'damaged', 'as it was');
  const missing = await putFile(node, id, 'missing', 'once here');
  const fileOf = (sha256: string) => join(node.dataFolder, 'drafts', id, sha256);
  await writeFile(fileOf(damaged.sha256), 'as it is!');
  await rm(fileOf(missing.sha256));
  const refused = await problemOf(publish(node, id));
  expect(refused).toMatchObject({ status: 422, code: 'unknown_blob', path: 'damaged' });
  expect(refused.errors).toHaveLength(2);
  expect(await temporaryFiles(node)).toEqual([]);
  await putFile(node, id, 'damaged', 'as it was');
  await putFile(node, id, 'missing', 'once here');
  expect((await publish(node, id)).status).toBe(201);
});

test('a new version reuses files of the archive without sending them', async () => {
  const node = await openTestNode();
  const first = await uploadNewPack(node, { title: 'One' }, { 'same.txt': 'same', 'old.txt': 'old' });
  const { id } = await newDraft(node, sampleRecord({ title: 'Two', supersedes: first.id }));
  await node.sendJson('PATCH', `/manage/drafts/${id}/files`, { add: first.files });
  await putFile(node, id, 'old.txt', 'new');
  const pack = (await (await publish(node, id)).json()) as Pack;
  expect(pack.files.map(({ path, sha256 }) => [path, sha256])).toEqual([
    ['old.txt', sha256Of('new')],
    ['same.txt', sha256Of('same')],
  ]);
});

test('a draft whose record is published already ends as that pack', async () => {
  const node = await openTestNode();
  const record = { title: 'Twice' };
  const pack = await uploadNewPack(node, record, { a: 'x' });
  const { id } = await newDraft(node, sampleRecord(record));
  await node.sendJson('PATCH', `/manage/drafts/${id}/files`, { add: pack.files });
  await rm(join(node.dataFolder, 'drafts'), { recursive: true, force: true });
  const response = await publish(node, id);
  expect([response.status, ((await response.json()) as Pack).id]).toEqual([200, pack.id]);
  expect(await readDraft(node, id)).toMatchObject({ pack: pack.id });
});
