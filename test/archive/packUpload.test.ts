import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import { MAX_PACK_FILES } from '../../shared/limits.ts';
import {
  filesOf,
  packForm,
  sampleRecord,
  sha256Of,
  uploadNewPack,
  uploadPack,
} from '../support/archive/packs.ts';
import {
  fileHeaders,
  MULTIPART,
  multipart,
  post,
  RECORD,
  refused,
  temporaryFiles,
} from '../support/archive/uploads.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

describe('multipart/form-data', () => {
  test('stores the record and the files exactly as sent', async () => {
    const files = {
      'data/ünï code.csv': 'a,b\r\n',
      'empty.txt': '',
      'bytes.bin': Buffer.from([0, 255, 13, 10, 45, 45]),
    };
    const response = await uploadPack(node, sampleRecord({ title: 'With files' }), files);
    expect(response.status).toBe(201);
    const pack = (await response.json()) as Pack;
    expect(response.headers.get('Location')).toBe(`/api/packs/${pack.id}`);
    expect(pack.id).toBe(`pk_${pack.digest.slice(0, 20)}`);
    expect(pack.files.map(({ path, sha256, bytes }) => ({ path, sha256, bytes }))).toEqual(
      Object.entries(files)
        .map(([path, content]) => ({ path, sha256: sha256Of(content), bytes: Buffer.byteLength(content) }))
        .sort((left, right) => (left.path < right.path ? -1 : 1)),
    );
    for (const [path, content] of Object.entries(files)) {
      const { sha256 } = pack.files.find((file) => file.path === path) as Pack['files'][number];
      const blob = await node.fetch(`/api/blobs/${sha256}`);
      expect(Buffer.from(await blob.arrayBuffer()).equals(Buffer.from(content))).toBe(true);
    }
    expect(await (await node.fetch(`/api/packs/${pack.id}`)).json()).toEqual(pack);
    expect(await temporaryFiles(node)).toEqual([]);
  });

  test('the record may be a file part, the last part, and have a charset', async () => {
    const record = JSON.stringify(sampleRecord({ title: 'Läst', files: filesOf({ a: 'x' }) }));
    for (const headers of [
      `${RECORD}; filename="record.json"\r\nContent-Type: application/json`,
      `${RECORD}\r\nContent-Type: application/json; charset=utf-8`,
      RECORD,
    ]) {
      const response = await post(node, multipart([fileHeaders('a'), 'x'], [headers, record]), MULTIPART);
      expect([200, 201]).toContain(response.status);
      expect(await response.json()).toMatchObject({ title: 'Läst' });
    }
  });

  test('files that the record omits have the media type of their part, or of their name', async () => {
    const body = multipart(
      [RECORD, JSON.stringify(sampleRecord({ title: 'Types' }))],
      [fileHeaders('a.csv', 'application/vnd.mine'), '1'],
      [fileHeaders('b.csv', 'application/octet-stream'), '2'],
      [fileHeaders('c.json'), '3'],
      [fileHeaders('d.unknown'), '4'],
    );
    const pack = (await (await post(node, body, MULTIPART)).json()) as Pack;
    expect(pack.files.map(({ media_type }) => media_type)).toEqual([
      'application/vnd.mine',
      'text/csv',
      'application/json',
      'text/plain',
    ]);
  });

  test('the files in the record must match the files sent', async () => {
    const files = filesOf({ 'a.txt': 'a', 'b.txt': 'b' }).reverse();
    const record = sampleRecord({ title: 'Mismatched', files });
    expect(await refused(node, () => uploadPack(node, record, { 'a.txt': 'a' }))).toMatchObject({
      status: 422,
      code: 'files_mismatch',
      path: 'b.txt',
      errors: [{ path: '/files/0/path' }],
    });
    expect(
      await refused(node, () => uploadPack(node, record, { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' })),
    ).toMatchObject({
      status: 422,
      code: 'files_mismatch',
      path: 'c.txt',
    });
    expect(await refused(node, () => uploadPack(node, record, { 'a.txt': 'A', 'b.txt': 'b' }))).toMatchObject(
      {
        status: 422,
        code: 'digest_mismatch',
        path: 'a.txt',
        errors: [{ path: '/files/1/sha256', message: expect.stringContaining(sha256Of('A')) }],
      },
    );
    const wrongSize = { ...record, files: files.map((file) => ({ ...file, bytes: 7 })) };
    expect(
      await refused(node, () => uploadPack(node, wrongSize, { 'a.txt': 'a', 'b.txt': 'b' })),
    ).toMatchObject({
      status: 422,
      code: 'files_mismatch',
      errors: [{ path: '/files/1/bytes' }, { path: '/files/0/bytes' }],
    });
  });

  test('an invalid form is refused, and nothing of it is stored', async () => {
    const record: [string, string] = [RECORD, JSON.stringify(sampleRecord({ title: 'Refused' }))];
    const cases: [string, Buffer, number, string][] = [
      ['no record', multipart([fileHeaders('a'), 'x']), 400, 'invalid_multipart'],
      ['two records', multipart([`${RECORD}; filename="r"`, record[1]], record), 400, 'invalid_multipart'],
      [
        'an unknown field',
        multipart(record, ['Content-Disposition: form-data; name="note"', 'x']),
        400,
        'invalid_multipart',
      ],
      [
        'an unknown field alone',
        multipart(['Content-Disposition: form-data; name="note"', 'x']),
        422,
        'unknown_field',
      ],
      [
        'an unknown file',
        multipart(record, ['Content-Disposition: form-data; name="file"; filename="a"', 'x']),
        422,
        'unknown_field',
      ],
      [
        'a file without a name',
        multipart(record, [
          'Content-Disposition: form-data; name="files"\r\nContent-Type: application/octet-stream',
          'x',
        ]),
        400,
        'invalid_multipart',
      ],
      [
        'a file sent twice',
        multipart(record, [fileHeaders('a'), 'x'], [fileHeaders('a'), 'y']),
        422,
        'invalid_field',
      ],
      [
        'files that differ only in case',
        multipart(record, [fileHeaders('a'), 'x'], [fileHeaders('A'), 'y']),
        422,
        'invalid_field',
      ],
      ['a path that leads out', multipart(record, [fileHeaders('../a'), 'x']), 422, 'invalid_field'],
      [
        'a truncated body',
        multipart(record, [fileHeaders('a'), 'x']).subarray(0, -12),
        400,
        'invalid_multipart',
      ],
      ['a body that is not multipart', Buffer.from('hello'), 400, 'invalid_multipart'],
      ['an empty body', Buffer.alloc(0), 400, 'invalid_multipart'],
    ];
    for (const [name, body, status, code] of cases) {
      expect(await refused(node, () => post(node, new Uint8Array(body), MULTIPART)), name).toMatchObject({
        status,
        code,
      });
    }
    expect(
      await refused(node, () => post(node, 'x', { 'Content-Type': 'multipart/form-data' })),
    ).toMatchObject({
      status: 400,
      code: 'invalid_multipart',
    });
  });

  test('a file name that is not UTF-8 is refused and not corrected', async () => {
    const body = Buffer.from(
      multipart(
        [RECORD, JSON.stringify(sampleRecord({ title: 'Latin' }))],
        [fileHeaders('caf\u00e9'), 'x'],
      ).toString('utf8'),
      'latin1',
    );
    expect(await refused(node, () => post(node, new Uint8Array(body), MULTIPART))).toMatchObject({
      status: 422,
      code: 'invalid_name_encoding',
    });
  });

  test(`more than ${MAX_PACK_FILES} files are refused`, async () => {
    const parts = Array.from({ length: MAX_PACK_FILES + 1 }, (_, index): [string, string] => [
      fileHeaders(`f${index}`),
      '',
    ]);
    const body = multipart([RECORD, JSON.stringify(sampleRecord({ title: 'Many' }))], ...parts);
    expect(await refused(node, () => post(node, new Uint8Array(body), MULTIPART))).toMatchObject({
      status: 422,
      errors: [{ path: '/files' }],
    });
  });

  test('stores hundreds of small files that arrive in one chunk', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 400 }, (_, index) => [`d${index % 7}/f${index}.txt`, `${index}`]),
    );
    const pack = await uploadNewPack(node, { title: 'Hundreds' }, files);
    expect(pack.evidence).toMatchObject({ files: 400 });
    expect(await (await node.fetch(`/api/packs/${pack.id}/verify`)).json()).toMatchObject({ ok: true });
  });
});

describe('application/json', () => {
  const json = (record: unknown) => node.sendJson('POST', '/api/packs', record);

  test('accepts a record whose files are already in the archive', async () => {
    const files = { 'held.csv': 'held' };
    await uploadNewPack(node, { title: 'First holder' }, files);
    const response = await json(sampleRecord({ title: 'Second holder', files: filesOf(files) }));
    expect(response.status).toBe(201);
    const { id } = (await response.json()) as Pack;
    expect(await (await node.fetch(`/api/packs/${id}/verify`)).json()).toMatchObject({ ok: true });
  });

  test('a missing file is 422 unknown_blob, a file with another size 422 files_mismatch', async () => {
    const record = sampleRecord({ title: 'Not held', files: filesOf({ 'not/held.csv': 'nobody has this' }) });
    expect(await refused(node, () => json(record))).toMatchObject({
      status: 422,
      code: 'unknown_blob',
      path: 'not/held.csv',
      errors: [{ path: '/files/0/sha256' }],
    });
    const held = filesOf({ 'held.csv': 'held' }).map((file) => ({ ...file, bytes: 5 }));
    expect(await refused(node, () => json(sampleRecord({ files: held })))).toMatchObject({
      status: 422,
      code: 'files_mismatch',
      errors: [{ path: '/files/0/bytes' }],
    });
  });

  test('other media types are 415, malformed JSON is 400', async () => {
    expect(await refused(node, () => post(node, '{}', { 'Content-Type': 'text/plain' }))).toMatchObject({
      status: 415,
    });
    expect(await refused(node, () => node.fetchAsOwner('/api/packs', { method: 'POST' }))).toMatchObject({
      status: 415,
    });
    expect(
      await refused(node, () =>
        post(node, '{}', { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }),
      ),
    ).toMatchObject({ status: 415 });
    expect(await refused(node, () => post(node, '{', { 'Content-Type': 'application/json' }))).toMatchObject({
      status: 400,
      code: 'invalid_json',
    });
  });
});

test('accepts a FormData body as browsers send it', async () => {
  const form = packForm(sampleRecord({ title: 'From a browser' }), {});
  form.append('files', new File(['1'], 'folder/one.txt', { type: 'text/markdown' }));
  const response = await node.fetchAsOwner('/api/packs', { method: 'POST', body: form });
  expect(response.status).toBe(201);
  expect(await response.json()).toMatchObject({
    files: [{ path: 'folder/one.txt', media_type: 'text/markdown' }],
  });
});
