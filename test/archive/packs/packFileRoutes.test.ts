import { createHash } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { blobPath } from '../../../server/store/blobs/paths.ts';
import type { Pack } from '../../../shared/pack.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';
import {
  BAG,
  bareEntries,
  recordFor,
  SAMPLE_FILES,
  VALID_PACK_FILE,
  withChangedEntry,
} from '../../support/packFiles.ts';
import { problemOf, sampleRecord, sha256Of, uploadNewPack, uploadPack } from '../../support/packs.ts';
import { buildZip } from '../../support/zipBuilder.ts';

afterEach(closeTestNodes);

function upload(node: TestNode, body: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
  const init = {
    method: 'POST',
    body,
    headers: { 'Content-Type': 'application/zip', ...headers },
    duplex: 'half',
  };
  return node.fetchAsOwner('/api/packs', init);
}

async function download(node: TestNode, id: string): Promise<Buffer> {
  const response = await node.fetch(`/api/packs/${id}/file`);
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

/** That nothing of an upload is left: no row, no ledger entry, no byte. */
async function expectNothingKept(node: TestNode): Promise<void> {
  expect(await (await node.fetch('/api/packs')).json()).toMatchObject({ total: 0 });
  expect(await (await node.fetch('/api/ledger')).json()).toMatchObject({ total: 0 });
  expect(await readdir(join(node.dataFolder, 'tmp'))).toEqual([]);
  expect(await readdir(join(node.dataFolder, 'blobs'))).toEqual([]);
}

test('GET /api/packs/<id>/file is the pack file, with its length, its name and a tag; HEAD and 304 send no bytes', async () => {
  const node = await openTestNode();
  const { id } = await uploadNewPack(node, {}, SAMPLE_FILES);
  const response = await node.fetch(`/api/packs/${id}/file`);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(response.headers.get('Content-Type')).toBe('application/zip');
  expect(response.headers.get('Content-Length')).toBe(String(bytes.length));
  expect(response.headers.get('Content-Disposition')).toBe(`attachment; filename="${id}.pack.zip"`);
  const etag = response.headers.get('ETag') ?? '';
  expect(etag).toMatch(/^"[^"]+"$/);

  const head = await node.fetch(`/api/packs/${id}/file`, { method: 'HEAD' });
  expect(head.headers.get('Content-Length')).toBe(String(bytes.length));
  expect(head.headers.get('ETag')).toBe(etag);
  expect(await head.text()).toBe('');
  const again = await node.fetch(`/api/packs/${id}/file`, { headers: { 'If-None-Match': etag } });
  expect(again.status).toBe(304);
  expect((await problemOf(node.fetch(`/api/packs/pk_${'0'.repeat(20)}/file`))).code).toBe('not_found');
});

test('a pack file taken to another node is the same pack there, and gives the same bytes again', async () => {
  const [first, second] = [await openTestNode(), await openTestNode()];
  const pack = await uploadNewPack(first, { title: 'Tide levels' }, SAMPLE_FILES);
  const bytes = await download(first, pack.id);
  const response = await upload(second, new Uint8Array(bytes));
  expect(response.status).toBe(201);
  expect(response.headers.get('Location')).toBe(`/api/packs/${pack.id}`);
  expect(((await response.json()) as Pack).digest).toBe(pack.digest);
  expect(await download(second, pack.id)).toEqual(bytes);
  const verification = await second.fetch(`/api/packs/${pack.id}/verify`);
  expect(await verification.json()).toMatchObject({ ok: true });

  expect((await upload(second, new Uint8Array(bytes))).status).toBe(200);
  expect(await (await second.fetch('/api/ledger')).json()).toMatchObject({ total: 1 });
  expect(await readdir(join(second.dataFolder, 'tmp'))).toEqual([]);
});

test('a bare ZIP, deflated and in any order, gives the pack that a bag would give', async () => {
  const node = await openTestNode();
  const entries = bareEntries(SAMPLE_FILES, recordFor(SAMPLE_FILES)).map((entry) => ({
    ...entry,
    method: 8,
  }));
  const response = await upload(node, new Uint8Array(buildZip(entries.reverse())));
  expect(response.status).toBe(201);
  const { id } = (await response.json()) as Pack;
  expect(`${id}/`).toBe(BAG[0]?.name.toString().replace(/[^/]*$/, ''));
});

test('a pack file that is refused is refused by its code over HTTP too, and nothing of it is kept', async () => {
  const node = await openTestNode();
  const link = buildZip(withChangedEntry('notes.txt', { mode: 0o120777 }));
  expect(await problemOf(upload(node, new Uint8Array(link)))).toMatchObject({
    status: 422,
    code: 'symlink_entry',
  });
  const forged = buildZip(bareEntries({ a: 'x' }, recordFor({ a: 'y' })));
  expect(await problemOf(upload(node, new Uint8Array(forged)))).toMatchObject({
    status: 422,
    code: 'digest_mismatch',
    path: 'a',
    errors: [{ path: '/files/0/sha256' }],
  });
  const unknown = buildZip(bareEntries({}, recordFor({}, { node: 'nowhere' })));
  expect(await problemOf(upload(node, new Uint8Array(unknown)))).toMatchObject({
    status: 422,
    code: 'unknown_node',
  });
  await expectNothingKept(node);
});

test('a pack file is held to the digest that its headers announce', async () => {
  const node = await openTestNode();
  const base64 = createHash('sha256').update(VALID_PACK_FILE).digest('base64');
  const wrong = { 'Repr-Digest': `sha-256=:${createHash('sha256').update('x').digest('base64')}:` };
  expect(await problemOf(upload(node, new Uint8Array(VALID_PACK_FILE), wrong))).toMatchObject({
    code: 'digest_mismatch',
  });
  await expectNothingKept(node);
  expect(
    (await upload(node, new Uint8Array(VALID_PACK_FILE), { 'Content-Digest': `sha-256=:${base64}:` })).status,
  ).toBe(201);
});

test('a pack file beyond 52428800 bytes is refused while it streams, before it is all read', async () => {
  const node = await openTestNode();
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      sent += 1_048_576;
      controller.enqueue(new Uint8Array(1_048_576));
    },
  });
  expect(await problemOf(upload(node, endless))).toMatchObject({ status: 413, code: 'pack_too_large' });
  expect(sent).toBeLessThan(300_000_000);
  await expectNothingKept(node);
});

test('a record that is too large once its files are filled in is refused, so that its pack file can be taken back', async () => {
  const node = await openTestNode();
  const names = Array.from({ length: 4_500 }, (_, index) => `${'x'.repeat(900)}${index}`);
  const response = await uploadPack(
    node,
    sampleRecord(),
    Object.fromEntries(names.map((name) => [name, ''])),
  );
  expect(await problemOf(response)).toMatchObject({ status: 413, code: 'body_too_large' });
  await expectNothingKept(node);
});

test('no pack file is made of damaged bytes', async () => {
  const node = await openTestNode();
  const { id } = await uploadNewPack(node, {}, SAMPLE_FILES);
  await writeFile(blobPath(node.dataFolder, sha256Of('Measured by hand.\n')), 'Measured by foot.\n');
  expect(await problemOf(node.fetch(`/api/packs/${id}/file`))).toMatchObject({
    status: 500,
    code: 'blob_damaged',
  });
});

test('a bare ZIP whose record leaves the files out is the pack that its parts would make', async () => {
  const node = await openTestNode();
  const files = { 'table.csv': 'a,b\n1,2\n', 'notes/läs.txt': 'calm', 'no-type': 'x' };
  const zip = buildZip(bareEntries(files, sampleRecord()));
  const response = await upload(node, new Uint8Array(zip));
  const pack = (await response.json()) as Pack;
  expect(response.status).toBe(201);
  expect(pack.files.map(({ path, media_type, sha256 }) => [path, media_type, sha256])).toEqual([
    ['no-type', 'application/octet-stream', sha256Of('x')],
    ['notes/läs.txt', 'text/plain', sha256Of('calm')],
    ['table.csv', 'text/csv', sha256Of('a,b\n1,2\n')],
  ]);
  expect(await (await uploadPack(node, sampleRecord(), files)).json()).toMatchObject({ id: pack.id });
  expect(await (await node.fetch(`/api/packs/${pack.id}/verify`)).json()).toMatchObject({ ok: true });
});

test.each([
  ['no object', 'null', 'invalid_field'],
  ['a field that no rule names', JSON.stringify({ ...sampleRecord(), colour: 'red' }), 'unknown_field'],
])('a bare ZIP whose record has no files and is %s is refused', async (_what, record, code) => {
  const node = await openTestNode();
  const zip = buildZip([
    { name: 'pack.json', data: record },
    { name: 'data/a', data: 'x' },
  ]);
  expect(await problemOf(upload(node, new Uint8Array(zip)))).toMatchObject({ status: 422, code });
  await expectNothingKept(node);
});

test('a bare ZIP without its files’ names is refused for a path that no pack may have', async () => {
  const node = await openTestNode();
  const zip = buildZip(bareEntries({ 'con.txt': 'x' }, sampleRecord()));
  expect(await problemOf(upload(node, new Uint8Array(zip)))).toMatchObject({ status: 422 });
  await expectNothingKept(node);
});
