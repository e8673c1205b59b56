import { afterEach, expect, test } from 'vitest';
import type { WithheldState } from '../../shared/node/withheld.ts';
import { openCollectingNode } from '../collection/support.ts';
import { filesOf, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../support/node.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test('visitors are told what withholds a digest, a retrieval and a pack, also as part of something else', async () => {
  const web = await ScriptedWeb.open();
  const node = await openCollectingNode();
  web.script('/notes', page('<p>Notes of the day.</p>'));
  const { id: source } = await node.watch(web.url('/notes'));
  await node.check();
  const [retrieval] = await node.retrievals(source);
  const files = { 'data.csv': 'word\nobnubilate\n', 'more.csv': 'word\nsusurration, longer\n' };
  const pack = await uploadNewPack(node.node, { files: filesOf(files) }, files);
  const [first, second] = pack.files.map(({ sha256 }) => sha256);
  const state = async (query: string) =>
    (await (await node.node.fetch(`/api/withheld/state?${query}`)).json()) as WithheldState;

  expect(await state(`sha256=${first}`)).toEqual({ withheld: [], released: null, absent: null });
  expect(await state(`pack=pk_00000000000000000000`)).toEqual({ withheld: [], released: null, absent: null });
  const withhold = async (body: object) => {
    const response = await node.node.sendJson('POST', '/manage/withheld', body);
    expect(response.status).toBe(201);
    return (await response.json()) as WithheldState['withheld'][number];
  };
  const ofPack = await withhold({ pack: pack.id, reason: 'copyright', note: 'Asked by the publisher.' });
  const ofFile = await withhold({ sha256: first, reason: 'personal_data' });
  expect(await state(`sha256=${first}`)).toEqual({
    withheld: [ofPack, ofFile],
    released: null,
    absent: null,
  });
  expect(await state(`sha256=${second}`)).toEqual({ withheld: [ofPack], released: null, absent: null });
  expect(await state(`pack=${pack.id}`)).toEqual({ withheld: [ofPack], released: null, absent: null });
  expect(ofPack.objects).toBe(2);
  expect(await node.read(`/api/withheld/objects?withholding=${ofPack.ledger_entry}`)).toMatchObject({
    total: 2,
    items: [
      { sha256: second, bytes: files['more.csv'].length },
      { sha256: first, bytes: files['data.csv'].length },
    ],
  });

  const ofRetrieval = await withhold({ retrieval: retrieval?.id, reason: 'login' });
  expect(await state(`retrieval=${retrieval?.id}`)).toEqual({
    withheld: [ofRetrieval],
    released: null,
    absent: null,
  });
  expect(await state(`sha256=${retrieval?.sha256}`)).toEqual({
    withheld: [ofRetrieval],
    released: null,
    absent: null,
  });

  const released = await node.node.sendJson('POST', '/manage/released', { sha256: first, reason: 'owner' });
  expect(await state(`sha256=${first}`)).toEqual({
    withheld: [{ ...ofFile, objects: 0 }],
    released: await released.json(),
    absent: null,
  });
  const none = await node.node.fetch('/api/withheld/state');
  expect([none.status, await none.json()]).toMatchObject([400, { code: 'invalid_parameter' }]);
});
