import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_PACK_BYTES } from '../../shared/limits.ts';
import { filesOf, sampleRecord, sha256Of, uploadNewPack, uploadPack } from '../support/archive/packs.ts';
import {
  fileHeaders,
  ledgerSize,
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

describe('limits', () => {
  test('accepts files of exactly 52428800 bytes; one more byte is 413 pack_too_large', async () => {
    const half = Buffer.alloc(MAX_PACK_BYTES / 2, 'a');
    const pack = await uploadNewPack(node, { title: 'Largest' }, { 'a.bin': half, 'b.bin': half });
    expect(pack.evidence.bytes).toBe(MAX_PACK_BYTES);
    expect(
      await refused(node, () =>
        uploadPack(node, sampleRecord({ title: 'Larger' }), { 'a.bin': half, 'b.bin': half, c: '!' }),
      ),
    ).toMatchObject({ status: 413, code: 'pack_too_large' });
    const files = filesOf({ 'a.bin': half, 'b.bin': half, 'c.bin': half });
    expect(
      await refused(node, () => node.sendJson('POST', '/api/packs', sampleRecord({ files }))),
    ).toMatchObject({
      status: 413,
      code: 'pack_too_large',
    });
  });

  test('a record over 4 MiB is 413 body_too_large in every kind of body', async () => {
    const record = `${JSON.stringify(sampleRecord()).slice(0, -1)},"summary":"${'x'.repeat(4 * 1_048_576)}"}`;
    for (const send of [
      () => post(node, record, { 'Content-Type': 'application/json' }),
      () => uploadPack(node, record),
      () => post(node, new Uint8Array(multipart([`${RECORD}; filename="r"`, record])), MULTIPART),
    ]) {
      expect(await refused(node, send)).toMatchObject({ status: 413, code: 'body_too_large' });
    }
  });

  test('accepts a valid record of 3 MiB', async () => {
    await uploadNewPack(node, {}, { 'held.csv': 'held' });
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
    const before = await ledgerSize(node);
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
    await expect.poll(() => temporaryFiles(node)).not.toEqual([]);
    request.destroy();
    await expect.poll(() => temporaryFiles(node)).toEqual([]);
    expect(await ledgerSize(node)).toBe(before);
    expect((await node.fetch('/api/health')).status).toBe(200);
  });
});
