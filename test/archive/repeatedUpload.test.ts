import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import { filesOf, sampleRecord, uploadNewPack, uploadPack } from '../support/archive/packs.ts';
import { ledgerSize, temporaryFiles } from '../support/archive/uploads.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

describe('the same record again', () => {
  test('returns 200 with the existing pack for any key order and kind of body, and writes nothing', async () => {
    const files = { 'same.txt': 'same' };
    const record = sampleRecord({ title: 'Same', results: { b: 1, a: -0 }, files: filesOf(files) });
    const first = await uploadNewPack(node, record, files);
    const before = await ledgerSize(node);
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
    expect(await ledgerSize(node)).toBe(before);
    expect(await temporaryFiles(node)).toEqual([]);
  });

  test('concurrent uploads create one pack: one gets 201, the others 200', async () => {
    const before = await ledgerSize(node);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        uploadPack(node, sampleRecord({ title: 'At once' }), { 'x.bin': 'x'.repeat(300_000) }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
    const ids = await Promise.all(answers.map(async (answer) => ((await answer.json()) as Pack).id));
    expect(new Set(ids).size).toBe(1);
    expect(await ledgerSize(node)).toBe(before + 1);
    expect(await temporaryFiles(node)).toEqual([]);
    expect(await (await node.fetch(`/api/packs/${ids[0]}/verify`)).json()).toMatchObject({ ok: true });
  });
});
