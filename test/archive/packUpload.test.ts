import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES } from '../../shared/limits.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import {
  filesOf,
  packForm,
  problemOf,
  sampleRecord,
  sha256Of,
  uploadNewPack,
  uploadPack,
} from '../support/packs.ts';

let node: TestNode;
beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

const ledgerSize = async () =>
  ((await (await node.fetch('/api/ledger?limit=1')).json()) as { total: number }).total;
const temporaryFiles = () => readdir(join(node.dataFolder, 'tmp'));

/** Sends a request that must be refused, and expects that nothing is left of it. */
async function refused(send: () => Promise<Response>) {
  const before = await ledgerSize();
  const problem = await problemOf(send());
  expect(await temporaryFiles()).toEqual([]);
  expect(await ledgerSize()).toBe(before);
  return problem;
}

const post = (body: BodyInit, headers: Record<string, string>) =>
  node.fetchAsOwner('/api/packs', { method: 'POST', body, headers });

/** A multipart body written by hand, each part with its own headers. */
function multipart(...parts: [headers: string, content: string | Buffer][]): Buffer<ArrayBuffer> {
  const pieces = parts.flatMap(([headers, content]) => [`--b\r\n${headers}\r\n\r\n`, content, '\r\n']);
  return Buffer.concat([...pieces, '--b--\r\n'].map((piece) => Buffer.from(piece as string)));
}
const MULTIPART = { 'Content-Type': 'multipart/form-data; boundary=b' };
const RECORD = 'Content-Disposition: form-data; name="record"';
const fileHeaders = (path: string, type?: string) =>
  `Content-Disposition: form-data; name="files"; filename="${path}"${type ? `\r\nContent-Type: ${type}` : ''}`;

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
    expect(await temporaryFiles()).toEqual([]);
  });

  test('the record may be a file part, the last part, and have a charset', async () => {
    const record = JSON.stringify(sampleRecord({ title: 'Läst', files: filesOf({ a: 'x' }) }));
    for (const headers of [
      `${RECORD}; filename="record.json"\r\nContent-Type: application/json`,
      `${RECORD}\r\nContent-Type: application/json; charset=utf-8`,
      RECORD,
    ]) {
      const response = await post(multipart([fileHeaders('a'), 'x'], [headers, record]), MULTIPART);
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
    const pack = (await (await post(body, MULTIPART)).json()) as Pack;
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
    expect(await refused(() => uploadPack(node, record, { 'a.txt': 'a' }))).toMatchObject({
      status: 422,
      code: 'files_mismatch',
      path: 'b.txt',
      errors: [{ path: '/files/0/path' }],
    });
    expect(
      await refused(() => uploadPack(node, record, { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' })),
    ).toMatchObject({
      status: 422,
      code: 'files_mismatch',
      path: 'c.txt',
    });
    expect(await refused(() => uploadPack(node, record, { 'a.txt': 'A', 'b.txt': 'b' }))).toMatchObject({
      status: 422,
      code: 'digest_mismatch',
      path: 'a.txt',
      errors: [{ path: '/files/1/sha256', message: expect.stringContaining(sha256Of('A')) }],
    });
    const wrongSize = { ...record, files: files.map((file) => ({ ...file, bytes: 7 })) };
    expect(await refused(() => uploadPack(node, wrongSize, { 'a.txt': 'a', 'b.txt': 'b' }))).toMatchObject({
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
      expect(await refused(() => post(new Uint8Array(body), MULTIPART)), name).toMatchObject({
        status,
        code,
      });
    }
    expect(await refused(() => post('x', { 'Content-Type': 'multipart/form-data' }))).toMatchObject({
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
    expect(await refused(() => post(new Uint8Array(body), MULTIPART))).toMatchObject({
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
    expect(await refused(() => post(new Uint8Array(body), MULTIPART))).toMatchObject({
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
    expect(await refused(() => json(record))).toMatchObject({
      status: 422,
      code: 'unknown_blob',
      path: 'not/held.csv',
      errors: [{ path: '/files/0/sha256' }],
    });
    const held = filesOf({ 'held.csv': 'held' }).map((file) => ({ ...file, bytes: 5 }));
    expect(await refused(() => json(sampleRecord({ files: held })))).toMatchObject({
      status: 422,
      code: 'files_mismatch',
      errors: [{ path: '/files/0/bytes' }],
    });
  });

  test('other media types are 415, malformed JSON is 400', async () => {
    expect(await refused(() => post('{}', { 'Content-Type': 'text/plain' }))).toMatchObject({ status: 415 });
    expect(await refused(() => node.fetchAsOwner('/api/packs', { method: 'POST' }))).toMatchObject({
      status: 415,
    });
    expect(
      await refused(() => post('{}', { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' })),
    ).toMatchObject({ status: 415 });
    expect(await refused(() => post('{', { 'Content-Type': 'application/json' }))).toMatchObject({
      status: 400,
      code: 'invalid_json',
    });
  });
});

describe('the same record again', () => {
  test('returns 200 with the existing pack for any key order and kind of body, and writes nothing', async () => {
    const files = { 'same.txt': 'same' };
    const record = sampleRecord({ title: 'Same', results: { b: 1, a: -0 }, files: filesOf(files) });
    const first = await uploadNewPack(node, record, files);
    const before = await ledgerSize();
    const turned = Object.fromEntries(
      Object.entries({ ...record, summary: '', results: { a: 0, b: 1.0 } }).reverse(),
    );
    for (const response of [
      await uploadPack(node, record, files),
      await uploadPack(node, turned, files),
      await node.sendJson('POST', '/api/packs', turned),
    ]) {
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual(first);
    }
    expect(await ledgerSize()).toBe(before);
    expect(await temporaryFiles()).toEqual([]);
  });

  test('concurrent uploads create one pack: one gets 201, the others 200', async () => {
    const before = await ledgerSize();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        uploadPack(node, sampleRecord({ title: 'At once' }), { 'x.bin': 'x'.repeat(300_000) }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
    const ids = await Promise.all(answers.map(async (answer) => ((await answer.json()) as Pack).id));
    expect(new Set(ids).size).toBe(1);
    expect(await ledgerSize()).toBe(before + 1);
    expect(await temporaryFiles()).toEqual([]);
    expect(await (await node.fetch(`/api/packs/${ids[0]}/verify`)).json()).toMatchObject({ ok: true });
  });
});

describe('Repr-Digest and Content-Digest', () => {
  const digestOf = (body: Uint8Array) => `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
  const body = (title: string) =>
    multipart([RECORD, JSON.stringify(sampleRecord({ title }))], [fileHeaders('a.bin'), 'x'.repeat(200_000)]);

  test.each(['Repr-Digest', 'Content-Digest'])(
    'accepts a matching %s, together with other algorithms',
    async (header) => {
      const bytes = body(`Digested ${header}`);
      const value = `sha-512=:${Buffer.alloc(64).toString('base64')}:, ${digestOf(bytes)}`;
      expect((await post(new Uint8Array(bytes), { ...MULTIPART, [header]: value })).status).toBe(201);
      const json = Buffer.from(JSON.stringify(sampleRecord({ title: `JSON ${header}` })));
      const headers = { 'Content-Type': 'application/json', [header]: digestOf(json) };
      expect((await post(json, headers)).status).toBe(201);
    },
  );

  test('a wrong digest is 422 digest_mismatch, and nothing is stored', async () => {
    const bytes = new Uint8Array(body('Damaged'));
    for (const header of ['Repr-Digest', 'Content-Digest']) {
      const headers = { [header]: digestOf(Buffer.from('other')) };
      expect(await refused(() => post(bytes, { ...MULTIPART, ...headers }))).toMatchObject({
        status: 422,
        code: 'digest_mismatch',
      });
      const json = JSON.stringify(sampleRecord({ title: 'Damaged' }));
      expect(
        await refused(() => post(json, { 'Content-Type': 'application/json', ...headers })),
      ).toMatchObject({ status: 422, code: 'digest_mismatch' });
    }
  });

  test.each(['sha-256=abc', 'sha-256=:YWJj:', 'nonsense', 'sha-256=:***:'])(
    'a malformed digest, %j, is 400',
    async (value) => {
      expect(
        await refused(() => post(new Uint8Array(body('Unread')), { ...MULTIPART, 'Repr-Digest': value })),
      ).toMatchObject({ status: 400, code: 'invalid_digest_header' });
    },
  );
});

describe('limits', () => {
  test('accepts files of exactly 52428800 bytes; one more byte is 413 pack_too_large', async () => {
    const half = Buffer.alloc(MAX_PACK_BYTES / 2, 'a');
    const pack = await uploadNewPack(node, { title: 'Largest' }, { 'a.bin': half, 'b.bin': half });
    expect(pack.evidence.bytes).toBe(MAX_PACK_BYTES);
    expect(
      await refused(() =>
        uploadPack(node, sampleRecord({ title: 'Larger' }), { 'a.bin': half, 'b.bin': half, c: '!' }),
      ),
    ).toMatchObject({ status: 413, code: 'pack_too_large' });
    const files = filesOf({ 'a.bin': half, 'b.bin': half, 'c.bin': half });
    expect(await refused(() => node.sendJson('POST', '/api/packs', sampleRecord({ files })))).toMatchObject({
      status: 413,
      code: 'pack_too_large',
    });
  });

  test('a record over 4 MiB is 413 body_too_large in every kind of body', async () => {
    const record = `${JSON.stringify(sampleRecord()).slice(0, -1)},"summary":"${'x'.repeat(4 * 1_048_576)}"}`;
    for (const send of [
      () => post(record, { 'Content-Type': 'application/json' }),
      () => uploadPack(node, record),
      () => post(new Uint8Array(multipart([`${RECORD}; filename="r"`, record])), MULTIPART),
    ]) {
      expect(await refused(send)).toMatchObject({ status: 413, code: 'body_too_large' });
    }
  });

  test('accepts a valid record of 3 MiB', async () => {
    const files = Array.from({ length: 3_000 }, (_, index) => ({
      path: `${'é'.repeat(400)}/${index}.csv`,
      sha256: sha256Of('held'),
      bytes: 4,
      media_type: 'text/csv',
    }));
    const record = sampleRecord({ title: 'Long record', files });
    expect(JSON.stringify(record).length).toBeGreaterThan(1_048_576);
    const response = await node.sendJson('POST', '/api/packs', record);
    expect(response.status).toBe(201);
  });
});

describe('a client that disconnects during its upload', () => {
  test('leaves nothing behind, and the node keeps working', async () => {
    const before = await ledgerSize();
    const body = multipart(
      [RECORD, JSON.stringify(sampleRecord({ title: 'Gone' }))],
      [fileHeaders('a.bin'), Buffer.alloc(8_000_000)],
    );
    const request = httpRequest(new URL('/api/packs', node.url), {
      method: 'POST',
      headers: { ...MULTIPART, Authorization: `Bearer ${node.token}`, 'Content-Length': body.length },
    });
    request.on('error', () => {});
    await new Promise<void>((resolve) => request.write(body.subarray(0, 4_000_000), () => resolve()));
    await expect.poll(temporaryFiles).not.toEqual([]);
    request.destroy();
    await expect.poll(temporaryFiles).toEqual([]);
    expect(await ledgerSize()).toBe(before);
    expect((await node.fetch('/api/health')).status).toBe(200);
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
