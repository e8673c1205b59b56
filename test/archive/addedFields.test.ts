import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';

let node: TestNode;
beforeAll(async () => {
  node = await openTestNode();
});
afterAll(closeTestNodes);

describe('fields that the server adds', () => {
  test.each([
    [null, 'report-only'],
    [{ text: 'How', complete: false }, 'report-only'],
    [{ text: 'How', complete: true }, 'replicable'],
    [{ link: 'https://example.org/', complete: true }, 'replicable'],
  ] as const)('a method of %j makes the tag %s', async (method, tag) => {
    const pack = await uploadNewPack(node, { title: `Tagged ${JSON.stringify(method)}`, method });
    expect(pack.tag).toBe(tag);
  });

  test('shows replications, evidence, newer versions and original_had_method on both packs', async () => {
    const original = await uploadNewPack(
      node,
      { title: 'Original', method: { text: 'How', complete: true } },
      { a: 'four' },
    );
    const plain = await uploadNewPack(node, { title: 'Without method' });
    const verdicts = ['reproduced', 'failed', 'failed', 'partial'] as const;
    const replications: Pack[] = [];
    for (const [index, verdict] of verdicts.entries()) {
      replications.push(
        await uploadNewPack(node, {
          title: `Again ${index}`,
          replicates: { pack: original.id, verdict, note: 'n' },
        }),
      );
    }
    expect(replications[0]).toMatchObject({
      original_had_method: true,
      replicates: { pack: original.id, verdict: 'reproduced', note: 'n' },
    });
    expect(
      await uploadNewPack(node, { title: 'Of plain', replicates: { pack: plain.id, verdict: 'failed' } }),
    ).toMatchObject({ original_had_method: false });
    const second = await uploadNewPack(node, { title: 'Original, corrected', supersedes: original.id });
    const third = await uploadNewPack(node, { title: 'Original, corrected again', supersedes: original.id });
    expect(second.evidence.superseded_by).toBeNull();
    expect(await (await node.fetch(`/api/packs/${original.id}`)).json()).toEqual({
      ...original,
      replications: replications.map(({ id, evidence }, index) => ({
        pack: id,
        verdict: verdicts[index],
        received_at: evidence.received_at,
      })),
      evidence: {
        received_at: original.evidence.received_at,
        bytes: 4,
        files: 1,
        reproduced: 1,
        partial: 1,
        failed: 2,
        version: 1,
        superseded_by: third.id,
      },
    });
  });

  test('received_at is the time of the ledger entry, which records the fingerprint', async () => {
    const pack = await uploadNewPack(node, { title: 'Recorded' });
    const { items } = (await (await node.fetch(`/api/ledger?from=${pack.ledger_entry}&limit=1`)).json()) as {
      items: object[];
    };
    expect(items).toEqual([
      expect.objectContaining({
        seq: pack.ledger_entry,
        type: 'pack.added',
        subject: pack.id,
        digest: pack.digest,
        at: pack.evidence.received_at,
      }),
    ]);
  });

  test('flags stay with the pack; the reason other requires a note', async () => {
    const { id, flags } = await uploadNewPack(node, { title: 'Flagged' });
    expect(flags).toEqual([]);
    const flag = (body: object, of = id) => node.sendJson('POST', `/api/packs/${of}/flag`, body);
    const response = await flag({ reason: 'privacy' });
    expect(response.status).toBe(201);
    expect(response.headers.get('Location')).toBe(`/api/packs/${id}`);
    expect((await flag({ reason: 'other', note: 'Blurred' })).status).toBe(201);
    expect(((await (await node.fetch(`/api/packs/${id}`)).json()) as Pack).flags).toEqual([
      { reason: 'privacy', note: '', at: expect.any(String) },
      { reason: 'other', note: 'Blurred', at: expect.any(String) },
    ]);
    for (const [body, path] of [
      [{ reason: 'other' }, '/note'],
      [{ reason: 'other', note: '  ' }, '/note'],
      [{ reason: 'ugly' }, '/reason'],
      [{}, '/reason'],
    ] as const) {
      expect(await problemOf(flag(body))).toMatchObject({ status: 422, errors: [{ path }] });
    }
    expect(await problemOf(flag({ reason: 'privacy' }, 'pk_00000000000000000000'))).toMatchObject({
      status: 404,
    });
  });

  test('an unknown pack is 404 at every endpoint', async () => {
    for (const path of [
      '/api/packs/pk_00000000000000000000',
      '/api/packs/pk_00000000000000000000/verify',
      '/api/packs/x',
    ]) {
      expect(await problemOf(node.fetch(path))).toMatchObject({ status: 404, code: 'not_found' });
    }
  });
});
