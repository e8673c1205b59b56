import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sampleRecord } from '../support/archive/packs.ts';
import { fileHeaders, MULTIPART, multipart, post, RECORD, refused } from '../support/archive/uploads.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

describe('Repr-Digest and Content-Digest', () => {
  const digestOf = (body: Uint8Array) => `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
  const body = (title: string) =>
    multipart([RECORD, JSON.stringify(sampleRecord({ title }))], [fileHeaders('a.bin'), 'x'.repeat(200_000)]);

  test.each(['Repr-Digest', 'Content-Digest'])(
    'accepts a matching %s, together with other algorithms',
    async (header) => {
      const bytes = body(`Digested ${header}`);
      const value = `sha-512=:${Buffer.alloc(64).toString('base64')}:, ${digestOf(bytes)}`;
      expect((await post(node, new Uint8Array(bytes), { ...MULTIPART, [header]: value })).status).toBe(201);
      const json = Buffer.from(JSON.stringify(sampleRecord({ title: `JSON ${header}` })));
      const headers = { 'Content-Type': 'application/json', [header]: digestOf(json) };
      expect((await post(node, json, headers)).status).toBe(201);
    },
  );

  test('a wrong digest is 422 digest_mismatch, and nothing is stored', async () => {
    const bytes = new Uint8Array(body('Damaged'));
    for (const header of ['Repr-Digest', 'Content-Digest']) {
      const headers = { [header]: digestOf(Buffer.from('other')) };
      expect(await refused(node, () => post(node, bytes, { ...MULTIPART, ...headers }))).toMatchObject({
        status: 422,
        code: 'digest_mismatch',
      });
      const json = JSON.stringify(sampleRecord({ title: 'Damaged' }));
      expect(
        await refused(node, () => post(node, json, { 'Content-Type': 'application/json', ...headers })),
      ).toMatchObject({ status: 422, code: 'digest_mismatch' });
    }
  });

  test.each(['sha-256=abc', 'sha-256=:YWJj:', 'nonsense', 'sha-256=:***:'])(
    'a malformed digest, %j, is 400',
    async (value) => {
      expect(
        await refused(node, () =>
          post(node, new Uint8Array(body('Unread')), { ...MULTIPART, 'Repr-Digest': value }),
        ),
      ).toMatchObject({ status: 400, code: 'invalid_digest_header' });
    },
  );
});
