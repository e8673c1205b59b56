import { createHash } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { blobPath } from '../../../server/store/files.ts';
import type { Pack } from '../../../shared/archive/pack.ts';
import {
  BAG,
  bareEntries,
  recordFor,
  SAMPLE_FILES,
  VALID_PACK_FILE,
  withChangedEntry,
} from '../../support/archive/packFiles.ts';
import { problemOf, sampleRecord, sha256Of, uploadNewPack, uploadPack } from '../../support/archive/packs.ts';
import { buildZip } from '../../support/archive/zipBuilder.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../../support/node.ts';

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

/** Expects that nothing of an upload is left: no row, no ledger entry, no file. */
async function expectNothingKept(node: TestNode): Promise<void> {
  expect(await (await node.fetch('/api/packs')).json()).toMatchObject({ total: 0 });
  expect(await (await node.fetch('/api/ledger')).json()).toMatchObject({ total: 0 });
  expect(await readdir(join(node.dataFolder, 'tmp'))).toEqual([]);
  expect(await readdir(join(node.dataFolder, 'blobs'))).toEqual([]);
}

test('GET /api/packs/<id>/file returns the pack file with length, name and entity tag; HEAD and 304 have no body', async () => {
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

test('a pack file uploaded to another node gives the same pack and the same bytes', async () => {
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

test('a plain ZIP, compressed and in any order, gives the same pack as a bag', async () => {
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

test('a malformed pack file is refused over HTTP with its code, and nothing of it is stored', async () => {
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

test('a pack file must match the digest in the headers', async () => {
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

test('a pack file over 52428800 bytes is refused before all of it is read', async () => {
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

test('a record that becomes too large with its files is refused, because its pack file could not be uploaded again', async () => {
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

test('does not write a pack file from damaged bytes', async () => {
  const node = await openTestNode();
  const { id } = await uploadNewPack(node, {}, SAMPLE_FILES);
  await writeFile(blobPath(node.dataFolder, sha256Of('Measured by hand.\n')), 'Measured by foot.\n');
  expect(await problemOf(node.fetch(`/api/packs/${id}/file`))).toMatchObject({
    status: 500,
    code: 'blob_damaged',
  });
});

test('a plain ZIP whose record omits the files gives the same pack as a multipart upload', async () => {
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
  ['not an object', 'null', 'invalid_field'],
  ['an unknown field', JSON.stringify({ ...sampleRecord(), colour: 'red' }), 'unknown_field'],
])('a plain ZIP whose record omits the files and is %s is refused', async (_what, record, code) => {
  const node = await openTestNode();
  const zip = buildZip([
    { name: 'pack.json', data: record },
    { name: 'data/a', data: 'x' },
  ]);
  expect(await problemOf(upload(node, new Uint8Array(zip)))).toMatchObject({ status: 422, code });
  await expectNothingKept(node);
});

test('a plain ZIP whose record omits the files is refused if a path is invalid', async () => {
  const node = await openTestNode();
  const zip = buildZip(bareEntries({ 'con.txt': 'x' }, sampleRecord()));
  expect(await problemOf(upload(node, new Uint8Array(zip)))).toMatchObject({ status: 422 });
  await expectNothingKept(node);
});
