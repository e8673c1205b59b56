import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Deriver } from '../../../server/collection/derived/process/deriver.ts';
import { openArchiveForWriting } from '../../../server/collection/record/coverRetrievals.ts';
import { versionComparer } from '../../../server/copies/pages/eventPage.ts';
import { makePages, pageContext } from '../../../server/copies/pages/makePages.ts';
import { createLog } from '../../../server/runtime/log.ts';
import { copyById } from '../../../server/store/sqlite/node/copies.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { imported } from '../../collection/captures/support.ts';
import { type CollectingNode, openCollectingNode } from '../../collection/support.ts';
import { sampleRecord, uploadNewPack } from '../../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../../support/network/scriptedWeb.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { response } from '../../support/warcFiles.ts';
import { addCopy, sync } from '../withheldCopies.ts';
import { readPages } from './readPages.ts';

let place: string;
beforeEach(async () => {
  place = join(await temporaryFolder(), 'copy');
});
afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

describe('a sync', () => {
  /** Changes of every kind, each of which changes some pages. */
  async function* changes(node: CollectingNode): AsyncGenerator<string> {
    const send = async (method: string, path: string, body: object) => {
      const answer = await node.node.sendJson(method, path, body);
      expect(answer.ok, `${path}: ${await answer.clone().text()}`).toBe(true);
      return (await answer.json()) as { id: string };
    };
    const study = await send('POST', '/api/studies', { title: 'Does it?' });
    yield 'a study';
    const first = await uploadNewPack(node.node, sampleRecord({ study: study.id }), { 'a.txt': 'a' });
    yield 'a pack';
    await uploadNewPack(node.node, sampleRecord({ title: 'Newer', supersedes: first.id }), { 'a.txt': 'b' });
    yield 'a newer version';
    const replicates = { pack: first.id, verdict: 'partial' as const };
    await uploadNewPack(node.node, sampleRecord({ title: 'Again', replicates }), { 'a.txt': 'c' });
    yield 'a replication';
    await send('POST', `/api/items/${first.id}/comments`, { author: 'Ada', body: 'Yes' });
    await send('POST', `/api/items/${study.id}/comments`, { author: 'Ada', body: 'No' });
    yield 'comments';
    await send('POST', `/api/packs/${first.id}/flag`, { reason: 'other', note: 'Look' });
    await send('POST', `/api/studies/${study.id}/status`, { status: 'running' });
    yield 'a flag and a status';
    const web = await ScriptedWeb.open();
    web.script('/a', page('1'), page('2'));
    web.script('/b', page('3'), page('4'));
    const source = await node.watch(web.url('/a'), { name: 'First' });
    await node.watch(web.url('/b'), { name: 'Second' });
    yield 'sources';
    await node.check();
    yield 'first events';
    await node.check([source.id]);
    yield 'an event';
    await send('PATCH', `/manage/sources/${source.id}`, { name: 'Renamed', tags: ['t'] });
    yield 'another name';
    await node.node.fetchAsOwner(`/manage/sources/${source.id}`, { method: 'DELETE' });
    yield 'a removal';
    const versions = Array.from({ length: 210 }, (_, day) =>
      response(`version ${day}`, {
        uri: 'http://captured.example/',
        date: new Date(Date.UTC(2020, 0, 1 + day)).toISOString(),
      }),
    );
    expect((await imported(node, Buffer.concat(versions))).captures).toBe(210);
    yield 'more events than one part has';
    await uploadNewPack(node.node, sampleRecord({ title: 'Last', study: study.id }), { 'a.txt': 'd' });
    yield 'one more pack';
  }

  test('makes only the pages that changed, and together they are those of a new copy', async () => {
    const node = await openCollectingNode();
    const steps = changes(node);
    await steps.next();
    const copy = await addCopy(node.node, place);
    await sync(node.node, copy);
    let before = await readPages(place);
    for await (const change of steps) {
      const { pages } = await sync(node.node, copy);
      const now = await readPages(place);
      const differing = [...now].filter(([path, text]) => before.get(path) !== text).length;
      expect(pages, change).toBe(differing);
      before = now;
    }
    expect(await sync(node.node, copy)).toMatchObject({ records: 0, pages: 0 });
    const whole = join(await temporaryFolder(), 'whole');
    await sync(node.node, await addCopy(node.node, whole));
    expect(before).toEqual(await readPages(whole));
  });

  test('shows nothing that is recorded while it runs', async () => {
    const dataFolder = join(await temporaryFolder(), 'data');
    const node = await openCollectingNode({}, { dataFolder });
    const steps = changes(node);
    for (let step = 0; step < 8; step += 1) await steps.next();
    const copy = await addCopy(node.node, place);
    const { checkpoint: note } = await sync(node.node, copy);
    const then = await readPages(place);
    for await (const _ of steps);
    await node.node.close();
    const warn = () => {};
    const opened = await openArchiveForWriting({ folder: dataFolder, clock: systemClock, warn });
    const deriver = new Deriver(createLog('silent'), undefined, opened.store.blobs);
    const services = { ...opened, compare: versionComparer(opened.store, deriver) };
    try {
      const row = copyById(services.store.read, copy.id);
      const size = Number(note.split('\n')[1]);
      const context = pageContext(services, row ?? expect.fail('no copy'), { size, note });
      const made = new Map<string, string>();
      for await (const { path, bytes } of makePages(context, 0)) made.set(path, bytes.toString());
      expect(made.size).toBe(then.size);
      for (const [path, text] of then) expect(made.get(path), path).toBe(text);
    } finally {
      await deriver.close();
      await services.store.close();
    }
  });
});
