import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openForWriting } from '../../server/store/sqlite/engine/open.ts';
import type { PageList } from '../../shared/collection/page.ts';
import type { Release } from '../../shared/node/withheld.ts';
import { handIn } from '../collection/handedIn/support.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { show, withhold } from '../copies/withheldCopies.ts';
import { filesOf, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { savedPage } from '../support/savedPages.ts';
import { SHOWN } from './handIns.ts';
import { HTML, seen, titled } from './quotes.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const DAY_MS = 86_400_000;
const text = (word: string) => page(`<html><body><p>A ${word} text.</p></body></html>`);

async function released(node: CollectingNode): Promise<string[]> {
  const { items } = await node.read<{ items: Release[] }>('/api/released?limit=500');
  for (const { reason, note } of items) expect({ reason, note }).toEqual({ reason: 'age', note: null });
  return items.map(({ sha256 }) => sha256).sort();
}

/** Opens a node whose clock only the test moves. */
async function openWithClock(): Promise<{ node: CollectingNode; web: ScriptedWeb; clock: ManualClock }> {
  const clock = new ManualClock();
  const web = await ScriptedWeb.open();
  return { node: await openCollectingNode({}, { clock }), web, clock };
}

/** Checks once a day and returns the digests of the versions, in order. */
async function versionsOf(node: CollectingNode, source: string): Promise<string[]> {
  return (await node.retrievals(source)).map(({ sha256 }) => String(sha256));
}

const patch = (node: CollectingNode, id: string, change: object) =>
  node.node.sendJson('PATCH', `/manage/sources/${id}`, change);

test('a source gives up what is older than it keeps, and never its newest version', async () => {
  const { node, web, clock } = await openWithClock();
  web.script('/a', text('one'), text('two'), text('three'), text('three'));
  const { id } = await node.watch(web.url('/a'), { keep_days: 3 });
  expect(await node.source(id)).toMatchObject({ keep_days: 3 });
  for (let day = 0; day < 3; day += 1) {
    await node.check();
    await clock.jump(DAY_MS);
  }
  const [one = '', two = '', three = ''] = await versionsOf(node, id);
  expect(await released(node), 'nothing is older than three days').toEqual([]);
  await clock.jump(1);
  await node.check();
  await eventually(async () => expect(await released(node)).toEqual([one]));
  await clock.jump(30 * DAY_MS);
  await node.check();
  await eventually(async () => expect(await released(node)).toEqual([one, two].sort()));
  expect((await node.node.fetch(`/archive/${three}`)).status).toBe(200);
  for (const sha256 of [one, two])
    expect((await node.node.fetchAsOwner(`/archive/${sha256}`)).status).toBe(410);
  expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true, problems: [] });
});

test('what a pack, a finding, a case or another source needs is not released for its age', async () => {
  const { node, web, clock } = await openWithClock();
  const words = ['pack', 'object', 'event', 'passage', 'case', 'sealed', 'between', 'sealed event'];
  words.push('shared', 'longer', 'nobody', 'newest');
  web.script('/a', ...words.map(text));
  web.script('/other', text('shared'), text('otherwise'));
  web.script('/longer', text('longer'), text('afterwards'));
  const { id } = await node.watch(web.url('/a'), { keep_days: 10 });
  await node.watch(web.url('/other'));
  const longer = await node.watch(web.url('/longer'), { keep_days: 100 });
  for (const _ of words) await node.check([id]);
  for (let round = 0; round < 2; round += 1) await node.check();
  const versions = (await versionsOf(node, id)).slice(0, words.length);
  const digestOf = (word: string) => versions[words.indexOf(word)] ?? '';
  const eventOf = async (word: string) =>
    String((await node.events()).find(({ sha256 }) => sha256 === digestOf(word))?.id);
  const created = async (path: string, body: object) => {
    const response = await node.node.sendJson('POST', path, body);
    expect(response.status, await response.clone().text()).toBe(201);
  };
  const files = { 'a.html': await (await node.node.fetch(`/archive/${digestOf('pack')}`)).text() };
  await uploadNewPack(node.node, { files: filesOf(files) }, files);
  await created('/manage/findings', { target: { kind: 'object', id: digestOf('object') }, text: 'This.' });
  await created('/manage/findings', { target: { kind: 'event', id: await eventOf('event') }, text: 'That.' });
  const sealed = { text: 'Sealed.', sealed: true };
  await created('/manage/findings', { target: { kind: 'object', id: digestOf('sealed') }, ...sealed });
  await created('/manage/findings', {
    target: { kind: 'event', id: await eventOf('sealed event') },
    ...sealed,
  });
  await created('/manage/cases', { title: 'Case', items: [{ kind: 'event', id: await eventOf('case') }] });

  await clock.jump(11 * DAY_MS);
  await node.check([id]);
  // Both versions of an event that is named are kept.
  const wanted = ['nobody'].map(digestOf).sort();
  await eventually(async () => expect(await released(node)).toEqual(wanted));
  await patch(node, longer.id, { keep_days: 10 });
  await node.check([id]);
  const more = ['nobody', 'longer'].map(digestOf).sort();
  await eventually(async () => expect(await released(node)).toEqual(more));
});

test('what a sealed finding may need is not released while its record cannot be read', async () => {
  const { node, web, clock } = await openWithClock();
  web.script('/a', text('quoted'), text('later'), text('newest'));
  const { id } = await node.watch(web.url('/a'), { keep_days: 10 });
  await node.check();
  const [quoted = ''] = await versionsOf(node, id);
  const finding = { target: { kind: 'object', id: quoted }, text: 'Sealed.', sealed: true };
  expect((await node.node.sendJson('POST', '/manage/findings', finding)).status).toBe(201);
  await clock.jump(1);
  for (let check = 0; check < 2; check += 1) await node.check();
  const [, later = ''] = await versionsOf(node, id);
  const { dataFolder } = node.node;
  await node.node.close();
  // As after a restore without the key, until the owner puts it there.
  const key = join(dataFolder, 'withheld.key');
  await rename(key, `${key}.away`);
  const database = openForWriting(join(dataFolder, 'strongroom.db'));
  database.exec('DELETE FROM sealed_texts');
  database.close();
  const without = await openCollectingNode({}, { clock, dataFolder });
  await clock.jump(11 * DAY_MS);
  await without.check();
  await eventually(async () => expect(await released(without)).toEqual([later]));
  expect((await without.node.fetch(`/archive/${quoted}`)).status).toBe(200);
});

test('keep_days is recorded where it is set, and can be changed and imported', async () => {
  const { node, web } = await openWithClock();
  const { id } = await node.watch(web.url('/a'));
  const record = async () => {
    const dump = await (await node.node.fetchAsOwner('/api/dump.jsonl')).text();
    const lines = dump.split('\n').filter((line) => line.startsWith('{"kind":"source_revision"'));
    return (JSON.parse(lines.at(-1) ?? '{}') as { record: object }).record;
  };
  expect(await record()).not.toHaveProperty('keep_days');
  expect((await patch(node, id, { keep_days: 30 })).status).toBe(200);
  expect(await record()).toMatchObject({ keep_days: 30 });
  expect(await node.source(id)).toMatchObject({ keep_days: 30 });
  expect((await patch(node, id, { keep_days: null })).status).toBe(200);
  expect(await record()).not.toHaveProperty('keep_days');
  for (const keep_days of [0, -1, 1.5, '3'])
    expect((await patch(node, id, { keep_days })).status, String(keep_days)).toBe(422);
  const list = `url,keep_days\n${web.url('/b')},7\n${web.url('/c')},\n`;
  const imported = await node.node.fetchAsOwner('/manage/sources/import', {
    method: 'POST',
    body: list,
    headers: { 'Content-Type': 'text/csv' },
  });
  expect(await imported.json()).toMatchObject({ added: 2, ignored_columns: [] });
  const { items } = await node.read<{ items: { url: string; keep_days: number | null }[] }>(
    '/manage/sources?sort=added',
  );
  expect(items.map(({ keep_days }) => keep_days)).toEqual([null, 7, null]);
  expect(await node.read('/api/ledger/verify')).toMatchObject({ ok: true, problems: [] });
});

test.each(['before', 'after'])(
  'what is withheld %s it is released for its age stays withheld in what is handed in later',
  async (when) => {
    const { node, web, clock } = await openWithClock();
    const secret = '<html><body><p>A quibblesome text.</p></body></html>';
    web.script('/a', page(secret, HTML), text('later'));
    const { id } = await node.watch(web.url('/a'), { keep_days: 3 });
    for (let check = 0; check < 2; check += 1) await node.check();
    const retrieval = (await node.retrievals(id)).find(({ sha256 }) => sha256 === sha256Of(secret))?.id;
    if (when === 'before') await withhold(node.node, { retrieval });
    await clock.jump(4 * DAY_MS);
    await node.check();
    await eventually(async () => expect(await released(node)).toEqual([sha256Of(secret)]));
    if (when === 'after') await withhold(node.node, { retrieval });
    const at = 'http://elsewhere.example/page';
    const saved = savedPage(at, [{ type: 'text/html', location: at, content: secret }]);
    await handIn(node.node, saved, 'multipart/related', SHOWN);
    const file = `/archive/${sha256Of(saved)}`;
    expect([(await node.node.fetch(file)).status, await seen(node.node, 'quibblesome')]).toEqual([451, []]);
    const dump = join(await temporaryFolder(), 'dump.jsonl');
    await writeFile(dump, await (await node.node.fetch('/api/dump.jsonl')).text());
    await show(node.node, { retrieval });
    expect((await node.node.fetch(file)).status).toBe(200);
    const data = join(await temporaryFolder(), 'data');
    expect(await runHere(['import', dump, '--data', data])).toMatchObject({ code: 0 });
    expect((await (await openTestNode({ dataFolder: data })).fetch(file)).status).toBe(451);
  },
);

test('what is withheld stays so in a page that shows it after it was released for its age', async () => {
  const { node, web, clock } = await openWithClock();
  web.script('/data', page('quibblesome'), text('later'));
  await node.watch(web.url('/data'), { keep_days: 3 });
  for (let check = 0; check < 2; check += 1) await node.check();
  const sha256 = sha256Of('quibblesome');
  await withhold(node.node, { sha256 });
  await clock.jump(4 * DAY_MS);
  await node.check();
  await eventually(async () => expect(await released(node)).toEqual([sha256]));
  web.script('/data', page('quibblesome'));
  const script = `<script>fetch('/data').then((a) => a.text()).then((t) => document.body.append(document.title = t))</script>`;
  web.script('/page', page(titled('Page', script), HTML));
  const drawn = await node.watch(web.url('/page'), { capture: 'page' });
  await node.check([drawn.id]);
  expect((await node.read<PageList>('/archive/pages')).items).toMatchObject([{ title: '' }]);
  expect(await seen(node.node, 'quibblesome')).toEqual([]);
});
