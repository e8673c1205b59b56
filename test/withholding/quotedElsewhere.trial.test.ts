import { afterEach, expect, test } from 'vitest';
import type { PageCapture, PageList } from '../../shared/collection/page.ts';
import { openCollectingNode } from '../collection/support.ts';
import { release, withhold } from '../copies/withheldCopies.ts';
import { Dice } from '../simulate/dice.ts';
import { markersInFolder, newMarker } from '../simulate/markers.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING } from '../support/node.ts';
import { handInWithPicture, pictureWith } from './handIns.ts';
import { HTML, seen, titled, withheldPage } from './quotes.ts';
import { isClean } from './support.ts';

/*
 * What quotes withheld or released bytes, where pages are drawn with a browser. `quotedElsewhere.test.ts` has the rest.
 */

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const dice = new Dice(2_026);

test('a page that is drawn of a document that is withheld has no title', async () => {
  const [web, node, marker] = [await ScriptedWeb.open(), await openCollectingNode(), newMarker(dice)];
  const { id } = await withheldPage(node, web, titled(`About ${marker}`));
  expect((await node.node.sendJson('PATCH', `/manage/sources/${id}`, { capture: 'page' })).status).toBe(200);
  await node.check([id]);
  expect(await node.read(`/archive/pages?source=${id}`)).toMatchObject({ items: [{ title: '' }] });
  expect(await seen(node.node, marker)).toEqual([]);
});

test('the diffs of a drawn page keep no words of its document once that is released', async () => {
  const [web, node] = [await ScriptedWeb.open(), await openCollectingNode({}, DERIVING)];
  const markers = [newMarker(dice), newMarker(dice), newMarker(dice)];
  // What is not shown is in the document only, whose digest is not that of the event.
  const versions = markers.map((marker, number) =>
    titled('Fees', `<b id="fee">${number}<span style="display: none">${marker}</span></b>`),
  );
  web.script('/fees', ...versions.map((body) => page(body, HTML)));
  const { id } = await node.watch(web.url('/fees'), { capture: 'page', watch: { css: '#fee' } });
  for (const _version of versions) await node.check([id]);
  const changes = (await node.summarizedEvents('event_type=changed')).filter((event) => event.page !== null);
  const diffs = () =>
    Promise.all(changes.map((event) => node.node.fetchAsOwner(`/api/events/${event.id}/diff`)));
  const { items } = await node.read<PageList>(`/archive/pages?source=${id}`);
  const { document } = await node.read<PageCapture>(`/archive/pages/${items[1]?.id}`);
  expect((await diffs()).map(({ status }) => status)).toEqual([200, 200]);
  const marker = markers[1] ?? '';
  const holding = async () => (await markersInFolder(node.node.dataFolder, [marker])).map(({ at }) => at);
  expect(await holding()).toContain('strongroom.db: derived_documents.content');
  await release(node.node, document);
  await release(node.node, sha256Of(versions[1] ?? ''));
  await isClean(node.node);
  expect(await holding()).toEqual([]);
  expect((await diffs()).map(({ status }) => status)).toEqual([410, 410]);
});

test('what a page has sent is withheld with it, also if it is drawn of a document that is withheld', async () => {
  const [web, node, marker] = [await ScriptedWeb.open(), await openCollectingNode(), newMarker(dice)];
  const post = (word: string) =>
    `<script>fetch('/post', { method: 'POST', body: 'sent ' + '${word}' })</script>`;
  const document = titled('Form', post(marker));
  web.script('/form', page(document, HTML));
  // What it was answered is also that of others, so that the request is in their files.
  web.script('/post', page('Thank you.'));
  const { id } = await node.watch(web.url('/form'), { capture: 'page' });
  await node.check([id]);
  const { items } = await node.read<PageList>(`/archive/pages?source=${id}`);
  expect(await seen(node.node, marker)).toContain(`/archive/${sha256Of(`sent ${marker}`)}`);
  await withhold(node.node, { page: items[0]?.id });
  expect(await seen(node.node, marker)).toEqual([]);
  const other = newMarker(dice);
  web.script('/other', page(titled('Form', post(other)), HTML));
  const later = await node.watch(web.url('/other'));
  await node.check([later.id]);
  await withhold(node.node, { sha256: sha256Of(titled('Form', post(other))) });
  await node.node.sendJson('PATCH', `/manage/sources/${later.id}`, { capture: 'page' });
  await node.check([later.id]);
  expect(web.requests('/post')).toHaveLength(2);
  expect(await seen(node.node, other)).toEqual([]);
});

test('what a page showed of a part that is withheld for itself is withheld, whichever came first', async () => {
  const [web, node] = [await ScriptedWeb.open(), await openCollectingNode()];
  const show = (path: string) =>
    `<script>fetch('${path}').then((a) => a.text()).then((t) => document.body.append(t))</script>`;
  const draw = async (path: string, part: string) => {
    web.script(path, page(titled('Drawn', show(part)), HTML));
    const { id } = await node.watch(web.url(path), { capture: 'page' });
    await node.check([id]);
    return (await node.read<PageList>(`/archive/pages?source=${id}`)).items[0]?.id ?? '';
  };
  const [first, second, other] = [newMarker(dice), newMarker(dice), newMarker(dice)];
  web.script('/first', page(first));
  web.script('/second', page(second));
  web.script('/other', page(other));
  const before = await draw('/before', '/first');
  expect(await seen(node.node, first)).toContain(`/archive/pages/${before}/text`);
  await withhold(node.node, { sha256: sha256Of(first) });
  expect(await seen(node.node, first)).toEqual([]);

  const { id } = await node.watch(web.url('/second'));
  await node.check([id]);
  await withhold(node.node, { sha256: sha256Of(second) });
  const after = await draw('/after', '/second');
  expect(await seen(node.node, second)).toEqual([]);

  // The others are shown, and so are these once the parts are.
  const open = await draw('/open', '/other');
  expect(await seen(node.node, other)).toContain(`/archive/pages/${open}/text`);
  for (const [word, capture] of [
    [first, before],
    [second, after],
  ] as const) {
    const body = { sha256: sha256Of(word) };
    expect((await node.node.sendJson('DELETE', '/manage/withheld', body)).status).toBe(200);
    expect(await seen(node.node, word)).toContain(`/archive/pages/${capture}/text`);
  }
});

test('what a page showed of a file of a pack that is withheld is withheld', async () => {
  const [web, node, marker] = [await ScriptedWeb.open(), await openCollectingNode(), newMarker(dice)];
  const { id: pack } = await uploadNewPack(node.node, {}, { 'a.txt': marker });
  await withhold(node.node, { pack });
  // Its title is in its record, which is public.
  const show = `<script>fetch('/a.txt').then((a) => a.text()).then((t) => document.body.append(document.title = t))</script>`;
  web.script('/drawn', page(titled('Drawn', show), HTML));
  web.script('/a.txt', page(marker));
  const { id } = await node.watch(web.url('/drawn'), { capture: 'page' });
  await node.check([id]);
  expect(await seen(node.node, marker)).toEqual([]);
});

test.each(['before', 'after'])(
  'the picture of a document that is handed in is withheld with a page that was drawn of it %s that',
  async (order) => {
    const [web, node] = [await ScriptedWeb.open(), await openCollectingNode()];
    const [document, picture] = [titled('Drawn', newMarker(dice)), newMarker(dice)];
    web.script('/drawn', page(document, HTML));
    const { id } = await node.watch(web.url('/drawn'), { capture: 'page' });
    await node.check([id]);
    const { items } = await node.read<PageList>(`/archive/pages?source=${id}`);
    const withholdPage = () => withhold(node.node, { page: items[0]?.id });
    if (order === 'before') await withholdPage();
    await handInWithPicture(node.node, Buffer.from(document), pictureWith(picture));
    if (order === 'after') await withholdPage();
    expect(await seen(node.node, picture)).toEqual([]);
  },
);

test('nothing is kept of a page whose document is withheld and then released while it is drawn', async () => {
  const [web, marker] = [await ScriptedWeb.open(), newMarker(dice)];
  const node = await openCollectingNode({}, DERIVING);
  const [asked, through] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const body = titled('A page', `${marker} <img src="/slow.png">`);
  web.script('/page', page(body, HTML));
  web.script('/slow.png', async (socket, request) => {
    asked.resolve();
    await through.promise;
    return page('', { status: 404 })(socket, request);
  });
  const { id } = await node.watch(web.url('/page'), { capture: 'page' });
  const checked = node.check([id]);
  await asked.promise;
  await withhold(node.node, { sha256: sha256Of(body) });
  await release(node.node, sha256Of(body));
  through.resolve();
  await checked;
  expect(await node.read(`/archive/pages?source=${id}`)).toMatchObject({ total: 0 });
  expect(await seen(node.node, marker)).toEqual([]);
  await isClean(node.node);
  expect(await markersInFolder(node.node.dataFolder, [marker])).toEqual([]);
});
