import { afterEach, expect, test } from 'vitest';
import { forkChild, type StartChild } from '../../server/runtime/child.ts';
import type { PageCapture, PageList } from '../../shared/collection/page.ts';
import { AlertingNode } from '../alerts/support.ts';
import { closeReceivers, WebhookReceiver } from '../alerts/webhookReceiver.ts';
import { handIn } from '../collection/handedIn/support.ts';
import type { CollectingNode } from '../collection/support.ts';
import { openCollectingNode } from '../collection/support.ts';
import { release, show, withhold } from '../copies/withheldCopies.ts';
import { Dice } from '../simulate/dice.ts';
import { markersInFolder, newMarker } from '../simulate/markers.ts';
import { markersShownTo, streamedTo } from '../simulate/visitor.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { publishedSet } from '../support/archive/sets.ts';
import { eventually } from '../support/eventually.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING, type TestNode } from '../support/node.ts';
import { savedPage } from '../support/savedPages.ts';
import { isClean } from './support.ts';

/*
 * Records are public. So what is withheld when something is recorded is not quoted in the record: neither as the name of a
 * source, nor as the reason of a label, nor as the title of a page. And what quotes released bytes goes with them.
 */

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
  closeReceivers();
});

const dice = new Dice(2_026);
const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };
const titled = (title: string, body = 'Some words.') =>
  `<html><title>${title}</title><body><p>${body}</p></body></html>`;

/** Where a visitor sees a marker. */
async function seen(node: TestNode, marker: string): Promise<string[]> {
  const shown = await markersShownTo((address) => node.fetch(address), [marker]);
  const stream = await streamedTo((address, init) => node.fetch(address, init));
  return [...shown.map(({ at }) => at), ...(stream.includes(marker) ? ['the stream'] : [])];
}

/** Watches an address whose bytes are withheld from then on. */
async function withheldPage(node: CollectingNode, web: ScriptedWeb, body: string, fields: object = {}) {
  web.script('/first', page(body, HTML));
  const source = await node.watch(web.url('/first'), { name: 'First', ...fields });
  await node.check([source.id]);
  await withhold(node.node, { sha256: sha256Of(body) });
  return source;
}

test('a source is not named after a page that is withheld', async () => {
  const [web, node, marker] = [await ScriptedWeb.open(), await openCollectingNode(), newMarker(dice)];
  await withheldPage(node, web, titled(`About ${marker}`));
  web.script('/second', page(titled(`About ${marker}`), HTML));
  web.script('/third', page(titled('About the weather'), HTML));
  await node.watchList([web.url('/second'), web.url('/third')]);
  await node.check();
  const { items } = await node.read<{ items: { name: string }[] }>('/manage/sources');
  expect(items.map(({ name }) => name).sort()).toEqual(['', 'About the weather', 'First']);
  expect(await seen(node.node, marker)).toEqual([]);
});

test('a source that was found in a page that is withheld has no name from there', async () => {
  const [web, node, marker] = [await ScriptedWeb.open(), await openCollectingNode(), newMarker(dice)];
  const follow = { kind: 'links', limit: 50, approve: true };
  const links = titled('Links', `<a href="/found">To ${marker}</a>`);
  await withheldPage(node, web, links, { follow });
  await eventually(async () => expect(await node.read('/manage/found')).toMatchObject({ total: 1 }));
  expect((await node.node.sendJson('POST', '/manage/found/approve', { all: true })).status).toBe(200);
  await eventually(async () => expect(await node.read('/manage/sources')).toMatchObject({ total: 2 }));
  expect(await seen(node.node, marker)).toEqual([]);
});

test('the label of a page that is withheld is recorded without the words of the page', async () => {
  const [web, node, marker] = [await ScriptedWeb.open(), await openCollectingNode(), newMarker(dice)];
  const error = titled(`404 Not Found - ${marker}`);
  web.script('/second', page(error, HTML));
  const first = await withheldPage(node, web, error);
  const { id } = await node.watch(web.url('/second'), { name: 'Second' });
  await node.check([id]);
  const labels = (await node.events()).map(({ source, page_label }) => [source.id, page_label?.reason]);
  expect(labels).toEqual([
    [id, 'It was judged by its content, which is withheld'],
    [first.id, expect.stringContaining(marker)],
  ]);
  // What was recorded before it was withheld is in that record for good.
  const about = (await seen(node.node, marker)).filter((at) => at.includes(id));
  expect(about).toEqual([]);
});

test('the names of the files of a set are withheld with its list, also by its verification', async () => {
  const [node, marker] = [await openCollectingNode({}, { packBytes: 10_000 }), newMarker(dice)];
  const files = { [`${marker}.txt`]: Buffer.alloc(12_000, 'abc'), 'b.txt': Buffer.from('b') };
  const { manifest } = await publishedSet(node.node, files);
  const verified = async (path: 'fetch' | 'fetchAsOwner') =>
    (await node.node[path](`/api/packs/${manifest.id}/verify`)).text();
  expect(await verified('fetch')).toContain(marker);
  await withhold(node.node, { pack: manifest.id });
  expect(JSON.parse(await verified('fetch'))).toMatchObject({ ok: true });
  expect(await verified('fetchAsOwner')).toContain(marker);
  expect(await seen(node.node, marker)).toEqual([]);
});

test('the texts of links of a released version are gone, also if a later one was read since', async () => {
  const [web, node] = [await ScriptedWeb.open(), await openCollectingNode({}, DERIVING)];
  const [gone, renamed, kept] = [newMarker(dice), newMarker(dice), newMarker(dice)];
  const links = (same: string, ...more: string[]) =>
    titled('Links', `<a href="/same">${same}</a> ${more.join(' ')}`);
  const versions = [links(renamed, `<a href="/gone">${gone}</a>`), links(kept)];
  web.script('/list', ...versions.map((body) => page(body, HTML)));
  const follow = { kind: 'links', limit: 50, approve: true };
  const { id } = await node.watch(web.url('/list'), { name: 'List', follow });
  const titles = async () =>
    (await node.read<{ items: { title: string }[] }>('/manage/found')).items.map(({ title }) => title).sort();
  for (const expected of [
    [gone, renamed],
    [gone, kept],
  ]) {
    await node.check([id]);
    await eventually(async () => expect(await titles()).toEqual(expected.toSorted()));
  }
  await release(node.node, sha256Of(versions[0] ?? ''));
  await isClean(node.node);
  expect(await titles()).toEqual([kept]);
  expect(await markersInFolder(node.node.dataFolder, [gone, renamed])).toEqual([]);
});

test('the texts of links of a version that is released while they are read are not kept', async () => {
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const startChild: StartChild = (options) =>
    forkChild({
      ...options,
      onMessage: (message) => {
        if ('isReady' in (message as object)) return options.onMessage(message);
        asked.resolve();
        void answered.promise.then(() => options.onMessage(message));
      },
    });
  const [web, node, marker] = [
    await ScriptedWeb.open(),
    await openCollectingNode({}, { startChild }),
    newMarker(dice),
  ];
  const links = titled('Links', `<a href="/found">To ${marker}</a>`);
  web.script('/list', page(links, HTML));
  const follow = { kind: 'links', limit: 50, approve: true };
  const { id } = await node.watch(web.url('/list'), { name: 'List', follow });
  const checked = node.check([id]);
  await asked.promise;
  await release(node.node, sha256Of(links));
  answered.resolve();
  await checked;
  expect(await node.read('/manage/found')).toMatchObject({ total: 0 });
});

test('a message that was sent keeps no words of bytes that were released since', async () => {
  const [web, receiver, marker] = [await ScriptedWeb.open(), await WebhookReceiver.open(), newMarker(dice)];
  const alerting = await AlertingNode.open(DERIVING);
  const versions = ['One.', marker].map((words) => titled('Diary', words));
  web.script('/diary', ...versions.map((body) => page(body, HTML)));
  await alerting.watch(web.url('/diary'), { name: 'Diary' });
  await alerting.check();
  await alerting.alert({ event_types: ['changed'] }, [receiver.target]);
  await alerting.check();
  await alerting.untilDelivered('sent');
  expect(receiver.calls[0]?.body).toContain(marker);
  await release(alerting.node, sha256Of(versions[1] ?? ''));
  await isClean(alerting.node);
  expect(await alerting.deliveries()).toMatchObject([{ state: 'sent', title: 'Diary has changed' }]);
  expect(await markersInFolder(alerting.node.dataFolder, [marker])).toEqual([]);
});

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

test('a file that was handed in is withheld with a part of it, whichever came first', async () => {
  const node = await openCollectingNode();
  const hand = async (name: string, word: string) => {
    const url = `http://elsewhere.example/${name}`;
    const file = savedPage(url, [
      { type: 'text/html', location: url, content: titled(name, '<img src="/picture.svg">') },
      {
        type: 'image/svg+xml',
        location: 'http://elsewhere.example/picture.svg',
        content: `<svg>${word}</svg>`,
      },
    ]);
    await handIn(node.node, file, 'multipart/related', { withheld: 'false' });
    return sha256Of(file);
  };
  const marker = newMarker(dice);
  const first = await hand('first', marker);
  expect(await seen(node.node, marker)).toContain(`/archive/${first}`);
  await withhold(node.node, { sha256: sha256Of(`<svg>${marker}</svg>`) });
  const second = await hand('second', marker);
  expect(await seen(node.node, marker)).toEqual([]);
  // The pages themselves stay, and the files come back with the part.
  expect(
    (await node.node.fetch(`/archive/${sha256Of(titled('second', '<img src="/picture.svg">'))}`)).status,
  ).toBe(200);
  await show(node.node, { sha256: sha256Of(`<svg>${marker}</svg>`) });
  for (const file of [first, second]) expect(await seen(node.node, marker)).toContain(`/archive/${file}`);
});
