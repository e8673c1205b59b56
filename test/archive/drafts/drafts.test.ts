import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { MAX_DRAFTS, MAX_PACK_BYTES } from '../../../shared/limits.ts';
import { draftFilesOnDisk, newDraft, putFile, readDraft, sendFile } from '../../support/archive/drafts.ts';
import { problemOf, sampleRecord, sha256Of, uploadNewPack } from '../../support/archive/packs.ts';
import { temporaryFiles } from '../../support/archive/uploads.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';

afterEach(closeTestNodes);

function changeFiles(node: TestNode, id: string, change: object): Promise<Response> {
  return node.sendJson('PATCH', `/manage/drafts/${id}/files`, change);
}

const pathsOf = (draft: { files: { path: string }[] }) => draft.files.map(({ path }) => path);

describe('a draft of a pack', () => {
  test('keeps an unfinished record as it is typed, and survives a restart with its files', async () => {
    const node = await openTestNode();
    const record = { title: 'Tid', license: 'wrong', results: { slope: '1.5e-' }, authors: [{}] };
    const form = { results: [{ key: '1', name: '', value: '1.5e-' }] };
    const { id } = await newDraft(node);
    const patched = await node.sendJson('PATCH', `/manage/drafts/${id}`, { record, form, revision: 1 });
    expect(await patched.json()).toMatchObject({ title: 'Tid', revision: 2 });
    await putFile(node, id, 'data/a1.csv', 'a,b\n');
    await node.close();

    const again = await openTestNode({ dataFolder: node.dataFolder });
    const draft = await readDraft(again, id);
    expect(draft).toMatchObject({ record, form, revision: 3, pack: null, counts: { files: 1, bytes: 4 } });
    expect(draft.files).toEqual([
      {
        path: 'data/a1.csv',
        sha256: sha256Of('a,b\n'),
        bytes: 4,
        media_type: 'text/csv',
        contents: 'kept',
      },
    ]);
    const list = (await (await again.fetchAsOwner('/manage/drafts')).json()) as { items: object[] };
    expect(list).toMatchObject({ total: 1, next: null, items: [{ id, title: 'Tid' }] });
  });

  test('refuses fields that a record does not have, and a change by a window that is out of date', async () => {
    const node = await openTestNode();
    const unknown = await node.sendJson('POST', '/manage/drafts', { record: { titel: 'x' } });
    expect(await problemOf(unknown)).toMatchObject({
      code: 'unknown_field',
      errors: [{ path: '/record/titel' }],
    });
    const { id } = await newDraft(node, { title: 'First' });
    const change = (title: string, revision: number) =>
      node.sendJson('PATCH', `/manage/drafts/${id}`, { record: { title }, revision });
    expect((await change('Second', 1)).status).toBe(200);
    expect(await problemOf(change('Third', 1))).toMatchObject({ status: 409, code: 'draft_changed' });
    expect((await readDraft(node, id)).record).toEqual({ title: 'Second' });
  });

  test('refuses a path that a pack cannot have as soon as a file is added or renamed', async () => {
    const node = await openTestNode();
    const { id } = await newDraft(node);
    const file = await putFile(node, id, 'a', 'contents');
    for (const path of ['../../x', '/etc/x', 'C:\\x', 'con', '.', 'a//b', 'nul\0', '50%.csv']) {
      expect(await problemOf(sendFile(node, id, path, 'contents'))).toMatchObject({
        code: 'invalid_parameter',
      });
      const renamed = changeFiles(node, id, { rename: [{ from: 'a', to: path }] });
      expect(await problemOf(renamed)).toMatchObject({ status: 422, errors: [{ path: '/rename/0/to' }] });
      const { sha256, bytes, media_type } = file;
      const added = changeFiles(node, id, { add: [{ path, sha256, bytes, media_type }] });
      expect(await problemOf(added)).toMatchObject({ status: 422, errors: [{ path: '/add/0/path' }] });
    }
    expect(pathsOf(await readDraft(node, id))).toEqual(['a']);
  });

  test('is created once, however often the request with its id is repeated', async () => {
    const node = await openTestNode();
    const id = `dr_${'0'.repeat(20)}`;
    const create = (title: string) => node.sendJson('POST', '/manage/drafts', { id, record: { title } });
    const first = await create('First');
    expect(first.status).toBe(201);
    expect(await first.json()).toMatchObject({ id, title: 'First', revision: 1 });
    const repeated = await create('Second');
    expect(repeated.status).toBe(200);
    expect(await repeated.json()).toMatchObject({ id, title: 'First', revision: 1 });
    const list = (await (await node.fetchAsOwner('/manage/drafts')).json()) as { total: number };
    expect(list.total).toBe(1);
    const wrong = await node.sendJson('POST', '/manage/drafts', { id: 'dr_1' });
    expect(await problemOf(wrong)).toMatchObject({ status: 422, errors: [{ path: '/id' }] });
  });

  test('is private: neither the ledger, nor blobs, nor a dump, nor visitors see it', async () => {
    const node = await openTestNode();
    const { id } = await newDraft(node, { title: 'Secret title' });
    const { sha256 } = await putFile(node, id, 'secret.txt', 'secret');
    expect((await node.fetchAsOwner(`/api/blobs/${sha256}`)).status).toBe(404);
    expect(await (await node.fetch('/api/ledger')).json()).toMatchObject({ total: 0 });
    expect(await (await node.fetch('/api/dump.jsonl')).text()).not.toMatch(/secret/i);
    expect((await node.fetch(`/manage/drafts/${id}`)).status).toBe(401);
    expect(await (await node.fetch('/api/stats')).json()).toMatchObject({ archived_objects: 0 });
  });

  test('its files are replaced, renamed (also crosswise), removed, and reused from the archive', async () => {
    const node = await openTestNode();
    const pack = await uploadNewPack(node, {}, { 'old.txt': 'old' });
    const { id } = await newDraft(node);
    await putFile(node, id, 'a', 'first');
    await putFile(node, id, 'a', 'second');
    await putFile(node, id, 'b', 'third');
    await putFile(node, id, 'c', 'fourth');
    const [old] = pack.files;
    const changed = await changeFiles(node, id, {
      remove: ['c', 'not there'],
      rename: [
        { from: 'a', to: 'b' },
        { from: 'b', to: 'a' },
      ],
      add: [old],
    });
    expect(((await changed.json()) as { files: unknown[] }).files).toMatchObject([
      { path: 'a', sha256: sha256Of('third'), contents: 'kept' },
      { path: 'b', sha256: sha256Of('second'), contents: 'kept' },
      { path: 'old.txt', sha256: sha256Of('old'), contents: 'archived' },
    ]);
    expect((await draftFilesOnDisk(node)).sort()).toEqual([sha256Of('second'), sha256Of('third')].sort());
    const unknown = { ...old, sha256: sha256Of('nowhere') };
    const refused = await problemOf(changeFiles(node, id, { remove: ['a'], add: [unknown] }));
    expect(refused).toMatchObject({ code: 'unknown_blob', errors: [{ path: '/add/0/sha256' }] });
    expect(pathsOf(await readDraft(node, id))).toEqual(['a', 'b', 'old.txt']);
  });

  test('a rename never replaces another file, and a reused file must have its true size', async () => {
    const node = await openTestNode();
    const { id } = await newDraft(node);
    for (const path of ['a', 'b', 'c']) await putFile(node, id, path, `contents of ${path}`);
    const colliding = [
      [{ from: 'a', to: 'b' }],
      [
        { from: 'a', to: 'd' },
        { from: 'b', to: 'd' },
      ],
    ];
    for (const rename of colliding) {
      expect(await problemOf(changeFiles(node, id, { remove: ['c'], rename }))).toMatchObject({
        status: 409,
        code: 'draft_changed',
      });
    }
    const [file] = (await readDraft(node, id)).files;
    const wrong = { path: 'd', sha256: file?.sha256, bytes: 0, media_type: 'text/plain' };
    expect(await problemOf(changeFiles(node, id, { add: [wrong] }))).toMatchObject({ code: 'unknown_blob' });
    expect(pathsOf(await readDraft(node, id))).toEqual(['a', 'b', 'c']);
    expect(await draftFilesOnDisk(node)).toHaveLength(3);
    const freed = await changeFiles(node, id, { remove: ['b'], rename: [{ from: 'a', to: 'b' }] });
    expect(((await freed.json()) as { files: unknown[] }).files).toMatchObject([
      { path: 'b', sha256: sha256Of('contents of a') },
      { path: 'c' },
    ]);
  });

  test('its title in lists is cut between characters', async () => {
    const node = await openTestNode();
    expect((await newDraft(node, { title: `x${'😀'.repeat(400)}` })).title).toBe(`x${'😀'.repeat(299)}`);
  });

  test('deleting it deletes its files, and no others', async () => {
    const node = await openTestNode();
    const { id } = await newDraft(node, { title: 'Gone' });
    const other = await newDraft(node, { title: 'Stays' });
    await putFile(node, id, 'a', 'same');
    await putFile(node, other.id, 'a', 'same');
    expect((await node.fetchAsOwner(`/manage/drafts/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await node.fetchAsOwner(`/manage/drafts/${id}`)).status).toBe(404);
    expect(await draftFilesOnDisk(node)).toEqual([sha256Of('same')]);
    expect((await readDraft(node, other.id)).files).toMatchObject([{ contents: 'kept' }]);
  });
});

describe('uploads to a draft', () => {
  test('a file with another digest leaves nothing', async () => {
    const node = await openTestNode();
    const { id } = await newDraft(node);
    const digest = Buffer.from(sha256Of('other'), 'hex').toString('base64');
    const headers = { 'Repr-Digest': `sha-256=:${digest}:` };
    expect(await problemOf(sendFile(node, id, 'a', 'this', headers))).toMatchObject({
      code: 'digest_mismatch',
    });
    expect((await readDraft(node, id)).files).toEqual([]);
    expect([await temporaryFiles(node), await draftFilesOnDisk(node)]).toEqual([[], []]);
  });

  test('a draft has at most twice the bytes of a pack if there are no sets', async () => {
    const node = await openTestNode();
    await node.sendJson('PATCH', '/manage/settings', { max_set_gb: 0 });
    const { id } = await newDraft(node);
    for (const path of ['one', 'two']) await putFile(node, id, path, new Uint8Array(MAX_PACK_BYTES));
    const refused = await problemOf(sendFile(node, id, 'three', 'x'));
    expect(refused).toMatchObject({ status: 413, code: 'pack_too_large' });
    expect(await temporaryFiles(node)).toEqual([]);
    expect(pathsOf(await readDraft(node, id))).toEqual(['one', 'two']);
    expect(await draftFilesOnDisk(node)).toHaveLength(1);
  });

  test('the number of drafts is limited', async () => {
    const node = await openTestNode();
    for (let made = 0; made < MAX_DRAFTS; made += 1) await newDraft(node);
    const refused = await node.sendJson('POST', '/manage/drafts', {});
    expect(await problemOf(refused)).toMatchObject({ status: 409, code: 'drafts_full' });
  });

  test('nothing is received when the archive is full', async () => {
    const node = await openTestNode();
    const { id } = await newDraft(node);
    await uploadNewPack(node, {}, { a: 'x'.repeat(2_000_000) });
    await node.sendJson('PATCH', '/manage/settings', { data_cap_gb: 0.001 });
    expect(await problemOf(sendFile(node, id, 'a', 'x'))).toMatchObject({ code: 'data_cap_reached' });
  });

  test('what an upload left behind when the node was killed is deleted, and a missing file is reported', async () => {
    const node = await openTestNode();
    const { id } = await newDraft(node, sampleRecord());
    const { id: gone } = await newDraft(node, sampleRecord());
    await putFile(node, id, 'a', 'kept');
    await putFile(node, gone, 'b', 'lost');
    await node.close();
    const folder = join(node.dataFolder, 'drafts');
    await writeFile(join(folder, id, sha256Of('abandoned')), 'abandoned');
    await mkdir(join(folder, `dr_${'0'.repeat(20)}`));
    await writeFile(join(folder, `dr_${'0'.repeat(20)}`, sha256Of('orphan')), 'orphan');
    await rm(join(folder, gone), { recursive: true });

    const again = await openTestNode({ dataFolder: node.dataFolder });
    await putFile(again, id, 'c', 'new');
    expect((await draftFilesOnDisk(again)).sort()).toEqual([sha256Of('kept'), sha256Of('new')].sort());
    expect((await readDraft(again, gone)).files).toMatchObject([{ path: 'b', contents: 'missing' }]);
    expect((await readDraft(again, id)).files).toMatchObject([{ contents: 'kept' }, { contents: 'kept' }]);
  });
});
