import { afterEach, expect, test } from 'vitest';
import { sourceIdOf } from '../../server/collection/sources/sources.ts';
import { forkChild, type StartChild } from '../../server/runtime/child.ts';
import { AlertingNode } from '../alerts/support.ts';
import { closeReceivers, WebhookReceiver } from '../alerts/webhookReceiver.ts';
import { handIn } from '../collection/handedIn/support.ts';
import { openCollectingNode } from '../collection/support.ts';
import { release, show, withhold } from '../copies/withheldCopies.ts';
import { Dice } from '../simulate/dice.ts';
import { markersInFolder, newMarker } from '../simulate/markers.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { publishedSet } from '../support/archive/sets.ts';
import { eventually } from '../support/eventually.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING } from '../support/node.ts';
import { savedPage } from '../support/savedPages.ts';
import { HTML, seen, titled, withheldPage } from './quotes.ts';
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

test('a feed is another one when its words are withheld, whatever a reader asks', async () => {
  const [web, marker] = [await ScriptedWeb.open(), newMarker(dice)];
  const node = await openCollectingNode({}, DERIVING);
  const versions = [titled('Diary', 'One.'), titled('Diary', marker)];
  web.script('/diary', ...versions.map((body) => page(body, HTML)));
  const { id } = await node.watch(web.url('/diary'), { name: 'Diary' });
  for (const _version of versions) await node.check([id]);
  const { items } = await node.read<{ items: { observed_at: string }[] }>('/api/events?limit=1');
  await node.summarizedEvents();
  const first = await node.node.fetch('/api/events.atom');
  expect(await first.text()).toContain(marker);
  await withhold(node.node, { sha256: sha256Of(versions[1] ?? '') });
  const conditions = {
    'If-None-Match': first.headers.get('ETag') ?? '',
    'If-Modified-Since': new Date(items[0]?.observed_at ?? '').toUTCString(),
  };
  for (const [name, value] of Object.entries(conditions)) {
    const again = await node.node.fetch('/api/events.atom', { headers: { [name]: value } });
    expect([again.status, (await again.text()).includes(marker)], name).toEqual([200, false]);
  }
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

const FOLLOW = { kind: 'links', limit: 50, approve: true };
/** More links than are kept of one page. */
const MANY = Array.from({ length: 12_000 }, (_, index) => `<a href="/n${index}">n</a>`).join(' ');
const NEXT: Readonly<Record<string, string>> = {
  'is not read to the end': titled('Links', `${MANY} <a href="/found">neutral</a>`),
  'cannot be read': '',
};

async function linking() {
  return {
    web: await ScriptedWeb.open(),
    node: await openCollectingNode({}, DERIVING),
    marker: newMarker(dice),
  };
}

/** Watches a page with a link, whose next version says less of it. Returns the digest of the first. */
async function linkedLess(next: string) {
  const { web, node, marker } = await linking();
  const first = titled('Links', `<a href="/found">To ${marker}</a>`);
  const second =
    next === '' ? page('%PDF-1.4', { headers: { 'content-type': 'application/pdf' } }) : page(next, HTML);
  web.script('/list', page(first, HTML), second);
  const { id } = await node.watch(web.url('/list'), { name: 'List', follow: FOLLOW });
  await node.check([id]);
  await eventually(async () => expect(await node.read('/manage/found')).toMatchObject({ total: 1 }));
  const readNext = async () => {
    await node.check([id]);
    await eventually(async () =>
      expect(await node.read(`/manage/sources/${id}`)).toMatchObject({ follow_run: { complete: false } }),
    );
  };
  const approve = async () => {
    await node.node.sendJson('POST', '/manage/found/approve', { ids: [sourceIdOf(web.url('/found'))] });
    await eventually(async () => expect(await node.read('/manage/sources')).toMatchObject({ total: 2 }));
  };
  return { node, marker, sha256: sha256Of(first), readNext, approve };
}

test.each(Object.entries(NEXT))(
  'the text of a link of a withheld version names no source, if the next one %s',
  async (_how, next) => {
    const { sha256, readNext, approve, node, marker } = await linkedLess(next);
    await withhold(node.node, { sha256 });
    await readNext();
    await approve();
    expect(await seen(node.node, marker)).toEqual([]);
  },
);

test.each(Object.entries(NEXT))(
  'the text of a link of a released version is overwritten, if the next one %s',
  async (_how, next) => {
    const { sha256, readNext, approve, node, marker } = await linkedLess(next);
    await readNext();
    await release(node.node, sha256);
    await isClean(node.node);
    expect(await markersInFolder(node.node.dataFolder, [marker])).toEqual([]);
    await approve();
    expect(await seen(node.node, marker)).toEqual([]);
  },
);

test('the text of a link of a released version is overwritten, if another link was refused before', async () => {
  const { web, node, marker } = await linking();
  const first = titled('Links', `<a href="/found">To ${marker}</a> <a href="/other">Other</a>`);
  web.script('/list', page(first, HTML), page(titled('Links', 'None.'), HTML));
  const { id } = await node.watch(web.url('/list'), { name: 'List', follow: FOLLOW });
  await node.check([id]);
  await eventually(async () => expect(await node.read('/manage/found')).toMatchObject({ total: 2 }));
  await node.node.sendJson('POST', '/manage/found/refuse', { ids: [sourceIdOf(web.url('/other'))] });
  await release(node.node, sha256Of(first));
  await isClean(node.node);
  expect(await markersInFolder(node.node.dataFolder, [marker])).toEqual([]);
});
