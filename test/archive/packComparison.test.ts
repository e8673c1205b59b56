import { rm } from 'node:fs/promises';
import { PNG } from 'pngjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PackComparison } from '../../shared/archive/packComparison.ts';
import type { FileDiff } from '../../shared/collection/diff.ts';
import { fileOf } from '../fixity/support.ts';
import {
  type Files,
  filesOf,
  sampleRecord,
  sha256Of,
  uploadNewPack,
  uploadPack,
} from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

async function compare(from: string, to: string): Promise<PackComparison> {
  const response = await node.fetch(`/api/packs/${from}/compare?with=${to}`);
  expect(response.status).toBe(200);
  return (await response.json()) as PackComparison;
}

function fileAddress(from: string, to: string, path: string): string {
  return `/api/packs/${from}/compare/file?with=${to}&path=${encodeURIComponent(path)}`;
}

/** Uploads two packs that have different contents at one path, and returns the response to the request for the diff. */
async function diffOf(before: string | Buffer, after: string | Buffer, mediaType: string): Promise<Response> {
  const ids: string[] = [];
  for (const content of [before, after]) {
    const files: Files = { 'a file': new Uint8Array(Buffer.from(content)) };
    const title = `${mediaType} ${sha256Of(Buffer.from(content))}`;
    const response = await uploadPack(node, sampleRecord({ title, files: filesOf(files, mediaType) }), files);
    ids.push(((await response.json()) as { id: string }).id);
  }
  return node.fetch(fileAddress(ids[0] ?? '', ids[1] ?? '', 'a file'));
}

function picture(red: number): Buffer {
  const png = new PNG({ width: 4, height: 4 });
  png.data.fill(255);
  png.data[0] = red;
  return PNG.sync.write(png);
}

describe('GET /api/packs/<id>/compare', () => {
  test('lists the changed fields of the record, and every file as added, changed, removed or same', async () => {
    const first = await uploadNewPack(
      node,
      { title: 'Tides', results: { mean: 1, high: 2 }, keywords: ['sea'] },
      { 'kept.txt': 'kept', 'mended.txt': 'wrong', 'dropped.txt': 'dropped' },
    );
    const second = await uploadNewPack(
      node,
      { title: 'Tides', results: { mean: 1, high: 3 }, keywords: ['sea'], supersedes: first.id },
      { 'kept.txt': 'kept', 'mended.txt': 'right', 'new.txt': 'new' },
    );
    const found = await compare(first.id, second.id);
    expect(found).toMatchObject({
      from: { id: first.id, version: 1, digest: first.digest },
      to: { id: second.id, version: 2, title: 'Tides' },
      record: [
        { field: 'results', before: { mean: 1, high: 2 }, after: { mean: 1, high: 3 } },
        { field: 'supersedes', before: null, after: first.id },
      ],
      counts: { added: 1, changed: 1, removed: 1, same: 1 },
    });
    expect(found.files.map(({ path, change }) => [path, change])).toEqual([
      ['dropped.txt', 'removed'],
      ['kept.txt', 'same'],
      ['mended.txt', 'changed'],
      ['new.txt', 'added'],
    ]);
    expect(found.files[2]).toMatchObject({
      before: { sha256: sha256Of('wrong'), bytes: 5 },
      after: { sha256: sha256Of('right') },
    });
    // The other way round, every difference is reversed.
    expect((await compare(second.id, first.id)).files.map(({ change }) => change)).toEqual([
      'added',
      'same',
      'changed',
      'removed',
    ]);
    expect(await compare(first.id, first.id)).toMatchObject({
      record: [],
      counts: { added: 0, changed: 0, removed: 0, same: 3 },
    });
  });

  test('a file whose media type alone differs is changed', async () => {
    const files = { 'a.txt': 'a' };
    const ids = [];
    for (const type of ['text/plain', 'text/csv']) {
      const record = sampleRecord({ title: type, files: filesOf(files, type) });
      ids.push(((await (await uploadPack(node, record, files)).json()) as { id: string }).id);
    }
    expect((await compare(ids[0] ?? '', ids[1] ?? '')).counts.changed).toBe(1);
    const diff = await node.fetch(fileAddress(ids[0] ?? '', ids[1] ?? '', 'a.txt'));
    expect([diff.status, await diff.json()]).toMatchObject([404, { code: 'nothing_to_compare' }]);
  });

  test('an unknown pack is 404, and a malformed or missing id 400', async () => {
    const { id } = await uploadNewPack(node, { title: 'Alone' });
    const unknown = `pk_${'0'.repeat(20)}`;
    const statusOf = async (path: string) => (await node.fetch(path)).status;
    expect(await statusOf(`/api/packs/${id}/compare?with=${unknown}`)).toBe(404);
    expect(await statusOf(`/api/packs/${unknown}/compare?with=${id}`)).toBe(404);
    expect(await statusOf(`/api/packs/${id}/compare?with=no`)).toBe(400);
    expect(await statusOf(`/api/packs/${id}/compare`)).toBe(400);
    expect(await statusOf(`/api/packs/${id}/compare?with=${id}&more=1`)).toBe(400);
  });
});

describe('GET /api/packs/<id>/compare/file', () => {
  test.each([
    ['text/plain', 'one two', 'one 2', 'text'],
    ['application/json', '{"a":[1,2]}', '{"a":[1,3]}', 'json'],
    ['text/csv', 'id,n\n1,2\n', 'id,n\n1,3\n', 'csv'],
    ['image/png', picture(0), picture(255), 'image'],
    ['application/octet-stream', Buffer.from([0, 1, 2, 0xfe]), Buffer.from([0, 1, 3, 0xfe]), 'bytes'],
  ])('compares two files of %s by their kind', async (type, before, after, kind) => {
    const response = await diffOf(before, after, type);
    expect(response.status).toBe(200);
    const diff = (await response.json()) as FileDiff;
    expect(diff).toMatchObject({
      kind,
      from: { sha256: sha256Of(Buffer.from(before)), content_type: type },
      to: { sha256: sha256Of(Buffer.from(after)) },
      truncated: false,
    });
    // Repeating the request returns the same diff.
    const again = await node.fetch(new URL(response.url).pathname + new URL(response.url).search, {
      headers: { 'If-None-Match': response.headers.get('ETag') ?? '' },
    });
    expect(again.status).toBe(304);
  });

  test('a file that only one pack has cannot be compared; one that neither has is unknown', async () => {
    const bare = await uploadNewPack(node, { title: 'Bare' });
    const full = await uploadNewPack(node, { title: 'Full' }, { 'a.txt': 'a' });
    const codeOf = async (path: string) => {
      const response = await node.fetch(fileAddress(bare.id, full.id, path));
      return [response.status, ((await response.json()) as { code: string }).code];
    };
    expect(await codeOf('a.txt')).toEqual([404, 'nothing_to_compare']);
    expect(await codeOf('b.txt')).toEqual([404, 'not_found']);
  });

  test('a hostile file is compared by its bytes or in part, while the node answers others', async () => {
    const deep = (leaf: string) => `${'['.repeat(200_000)}${leaf}${']'.repeat(200_000)}`;
    const response = await diffOf(deep('1'), deep('2'), 'application/json');
    expect(response.status).toBe(200);
    const diff = (await response.json()) as FileDiff;
    expect(diff.reason).not.toBeNull();
    expect((await node.fetch('/api/health')).status).toBe(200);
  });

  test('an altered file is not compared, and the damage is recorded', async () => {
    const older = await uploadNewPack(node, { title: 'Older' }, { 'a.txt': 'as it was sent' });
    const newer = await uploadNewPack(node, { title: 'Newer' }, { 'a.txt': 'corrected' });
    const sha256 = sha256Of('as it was sent');
    await rm(fileOf(node.dataFolder, sha256));
    const response = await node.fetch(fileAddress(older.id, newer.id, 'a.txt'));
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
      500,
      'blob_damaged',
    ]);
  });
});
