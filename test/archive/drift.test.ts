import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { DriftItem, PackDrift } from '../../shared/archive/drift.ts';
import type { Pack, PackRecordInput } from '../../shared/archive/pack.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING } from '../support/node.ts';

afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const related = (identifier: string): Pick<PackRecordInput, 'related'> => ({
  related: [{ relation: 'References', identifier }],
});

async function driftOf(node: CollectingNode, { id }: Pick<Pack, 'id'>): Promise<DriftItem[]> {
  return (await node.read<PackDrift>(`/api/packs/${id}/drift`)).items;
}

describe('a related work that is a watched source', () => {
  let node: CollectingNode;
  let web: ScriptedWeb;
  let source: string;
  const show = async (text: string) => {
    web.script('/prices', page(text));
    await node.check();
  };

  beforeEach(async () => {
    node = await openCollectingNode({ unavailable_after_failures: 1 }, DERIVING);
    web = await ScriptedWeb.open();
    source = (await node.watch(web.url('/prices'), { ignore_robots: true, name: 'Prices' })).id;
    await show('120 euros');
  });

  test('is the same, changed, and as it was again', async () => {
    const pack = await uploadNewPack(node.node, related(`${web.url('/prices')}#today`));
    const item = {
      relation: 'References',
      identifier: `${web.url('/prices')}#today`,
      kind: 'source',
      source: { id: source, url: web.url('/prices'), name: 'Prices' },
      cited_sha256: sha256Of('120 euros'),
      only_noise: false,
    };
    expect(await driftOf(node, pack)).toEqual([
      { ...item, state: 'same', at: null, event: null, current_sha256: sha256Of('120 euros') },
    ]);

    await show('145 euros');
    const [changed] = await node.events();
    expect(await driftOf(node, pack)).toEqual([
      {
        ...item,
        state: 'changed',
        at: changed?.observed_at,
        event: changed?.id,
        current_sha256: sha256Of('145 euros'),
      },
    ]);
    // A later pack relates to the newer version.
    const later = await uploadNewPack(node.node, { title: 'Later', ...related(web.url('/prices')) });
    expect(await driftOf(node, later)).toMatchObject([
      { state: 'same', cited_sha256: sha256Of('145 euros') },
    ]);

    await show('120 euros');
    expect(await driftOf(node, pack)).toMatchObject([
      { state: 'returned', current_sha256: sha256Of('120 euros'), event: 3 },
    ]);
    expect(await driftOf(node, later)).toMatchObject([{ state: 'changed', event: 3 }]);
  });

  test('has vanished, and comes back', async () => {
    const pack = await uploadNewPack(node.node, related(web.url('/prices')));
    web.script('/prices', page('Out of order', { status: 500 }));
    await node.check();
    const gone = (await node.events()).at(0);
    expect(gone?.event_type).toBe('unavailable');
    expect(await driftOf(node, pack)).toMatchObject([{ state: 'vanished', current_sha256: null }]);
    await show('120 euros');
    expect(await driftOf(node, pack)).toMatchObject([
      { state: 'returned', current_sha256: sha256Of('120 euros') },
    ]);
  });

  test('is recognised by the digest of an archived object, and by the address of one', async () => {
    const digest = sha256Of('120 euros');
    await show('145 euros');
    const byDigest = await uploadNewPack(node.node, related(`sha256:${digest}`));
    const byAddress = await uploadNewPack(node.node, {
      title: 'By address',
      ...related(`https://archive.example/archive/${digest}`),
    });
    for (const pack of [byDigest, byAddress]) {
      expect(await driftOf(node, pack)).toMatchObject([
        { kind: 'source', state: 'changed', cited_sha256: digest, current_sha256: sha256Of('145 euros') },
      ]);
    }
  });

  test('has only changed in what its noise rules name', async () => {
    const pack = await uploadNewPack(node.node, related(web.url('/prices')));
    const rules = [{ kind: 'pattern', value: '\\d+' }];
    expect(
      (await node.node.sendJson('PATCH', `/manage/sources/${source}`, { noise_rules: rules })).status,
    ).toBe(200);
    await show('121 euros');
    await expect.poll(async () => (await node.events())[0]?.is_noise).toBe(true);
    expect(await driftOf(node, pack)).toMatchObject([{ state: 'changed', only_noise: true }]);
  });
});

test('a file of another pack is the same, changed, missing or back in its newest version', async () => {
  const node = await openCollectingNode();
  const upload = (fields: Partial<PackRecordInput>, files: Record<string, string>) =>
    uploadNewPack(node.node, fields, files);
  const data = await upload({ title: 'Data' }, { 'data.csv': 'a,1\n' });
  const digest = sha256Of('a,1\n');
  const paper = await upload({ title: 'Paper', ...related(digest) }, { 'paper.txt': 'Text' });
  const item = {
    relation: 'References',
    identifier: digest,
    kind: 'file',
    pack: data.id,
    path: 'data.csv',
    cited_sha256: digest,
  };
  expect(await driftOf(node, paper)).toEqual([
    { ...item, state: 'same', at: null, current_sha256: digest, newest: data.id },
  ]);

  const second = await upload({ title: 'Data', supersedes: data.id }, { 'data.csv': 'a,2\n' });
  expect(await driftOf(node, paper)).toEqual([
    {
      ...item,
      state: 'changed',
      at: second.evidence.received_at,
      current_sha256: sha256Of('a,2\n'),
      newest: second.id,
    },
  ]);

  const third = await upload({ title: 'Data', supersedes: second.id }, { 'other.csv': 'a,2\n' });
  expect(await driftOf(node, paper)).toMatchObject([
    { state: 'vanished', current_sha256: null, newest: third.id },
  ]);

  const fourth = await upload({ title: 'Data', supersedes: third.id }, { 'data.csv': 'a,1\n' });
  expect(await driftOf(node, paper)).toContainEqual({
    ...item,
    state: 'returned',
    at: fourth.evidence.received_at,
    current_sha256: digest,
    newest: fourth.id,
  });
});

test('works that the archive does not know are left out, and a pack that it does not have is not found', async () => {
  const node = await openCollectingNode();
  const pack = await uploadNewPack(node.node, related('https://example.org/elsewhere'));
  expect(await driftOf(node, pack)).toEqual([]);
  expect((await node.node.fetch('/api/packs/pk_00000000000000000000/drift')).status).toBe(404);
});

describe('a study', () => {
  test('names the packs whose related works changed, newest first, with those works', async () => {
    const node = await openCollectingNode({}, DERIVING);
    const web = await ScriptedWeb.open();
    for (const path of ['/prices', '/rules']) web.script(path, page('before'));
    for (const path of ['/prices', '/rules']) await node.watch(web.url(path), { ignore_robots: true });
    await node.check();
    const created = await node.node.sendJson('POST', '/api/studies', {
      title: 'Prices',
      question: 'Do they rise?',
    });
    const { id: study } = (await created.json()) as { id: string };
    const publish = (title: string, path: string) =>
      uploadNewPack(node.node, { title, study, ...related(web.url(path)) });
    const first = await publish('First', '/prices');
    await publish('Unconcerned', '/rules');
    const second = await publish('Second', '/prices');
    await uploadNewPack(node.node, { title: 'Without related works', study });
    await uploadNewPack(node.node, { title: 'Of no study', ...related(web.url('/prices')) });
    const drift = () => node.read(`/api/studies/${study}/drift`);
    expect(await drift()).toEqual({ study, relating: 3, compared: 3, packs: [] });

    web.script('/prices', page('after'));
    await node.check();
    const [item] = await driftOf(node, first);
    expect(await drift()).toMatchObject({
      packs: [
        { id: second.id, title: 'Second', items: [{ state: 'changed' }] },
        { id: first.id, title: 'First', items: [item] },
      ],
    });
  });

  test('that does not exist has no drift', async () => {
    const node = await openCollectingNode();
    expect((await node.node.fetch('/api/studies/st_00000000000000000000/drift')).status).toBe(404);
  });
});
