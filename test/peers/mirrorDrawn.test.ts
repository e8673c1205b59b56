import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { PageCapture } from '../../shared/collection/page.ts';
import type { Peer, PeerProposal } from '../../shared/node/peer.ts';
import type { Withholding } from '../../shared/node/withheld.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { filesWith, release, show, withhold } from '../copies/withheldCopies.ts';
import { packForm, sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { share } from '../support/network/sharing.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { HTML, seen, titled } from '../withholding/quotes.ts';
import { addPeer, expectVerified, mirror } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const MARKER = 'quibblesome';
/** A picture of one pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const withheldAt = async (node: TestNode) =>
  ((await (await node.fetch('/api/withheld')).json()) as { items: Withholding[] }).items;
const proposals = async (node: TestNode, { id }: Peer) =>
  ((await (await node.fetchAsOwner(`/manage/peers/${id}/proposals`)).json()) as { items: PeerProposal[] })
    .items;

/** A peer that drew a page whose script loads data, and a node that may watch the same address. */
async function drawnByPeer(): Promise<{
  origin: CollectingNode;
  node: CollectingNode;
  id: string;
  peer: Peer;
}> {
  const web = await ScriptedWeb.open();
  const script = `<script>fetch('/data').then((a) => a.text()).then((t) => document.body.append(t))</script>`;
  web.script('/p', page(titled('Shell', script), HTML));
  web.script('/data', page(MARKER));
  const origin = await openCollectingNode();
  const { id } = await origin.watch(web.url('/p'), { capture: 'page' });
  await origin.check();
  const node = await openCollectingNode();
  return { origin, node, id, peer: await addPeer(node.node, origin.node.url) };
}

/** Checks the address here, without drawing it. */
async function checkHere(node: CollectingNode): Promise<void> {
  const { items } = await node.read<{ items: { id: string }[] }>('/manage/sources?limit=10');
  for (const { id } of items) await node.node.sendJson('PATCH', `/manage/sources/${id}`, { paused: false });
  await node.check(items.map(({ id }) => id));
}

for (const order of ['before', 'after'] as const)
  test(`what a peer's page shows stays withheld if its document is fetched here ${order} the peer withholds it`, async () => {
    const { origin, node, id, peer } = await drawnByPeer();
    await mirror(node.node, peer, { sources: true });
    expect(await seen(node.node, MARKER)).not.toEqual([]);
    if (order === 'before') await checkHere(node);
    const [retrieval] = await origin.retrievals(id);
    await withhold(origin.node, { retrieval: retrieval?.id });
    expect(await mirror(node.node, peer, { sources: true })).toMatchObject({ withheld: 1, refused: [] });
    if (order === 'after') await checkHere(node);
    expect(await seen(node.node, MARKER)).toEqual([]);
    expect((await node.node.fetch(`/archive/${retrieval?.sha256}`)).status).toBe(200);
    expect(await proposals(node.node, peer)).toMatchObject([{ kind: 'withheld', sha256: retrieval?.sha256 }]);
    await mirror(node.node, peer, { sources: true });
    expect(await seen(node.node, MARKER)).toEqual([]);
    await show(origin.node, { retrieval: retrieval?.id });
    await mirror(node.node, peer, { sources: true });
    expect(await seen(node.node, MARKER)).not.toEqual([]);
    expect([await withheldAt(node.node), await proposals(node.node, peer)]).toEqual([[], []]);
    await expectVerified(node.node);
  });

for (const when of ['before it is mirrored', 'after it was mirrored'] as const)
  test(`a page that the peer withholds ${when} does not hide its document, which was fetched here`, async () => {
    const { origin, node, peer } = await drawnByPeer();
    const { items } = await origin.read<{ items: PageCapture[] }>('/archive/pages');
    const [drawn] = items;
    const [source] = (await origin.read<{ items: { id: string; url: string }[] }>('/manage/sources?limit=9'))
      .items;
    if (when.startsWith('before')) {
      await node.watch(source?.url ?? '');
      await node.check();
      await withhold(origin.node, { page: drawn?.id });
    }
    await mirror(node.node, peer, { sources: true });
    if (when.startsWith('after')) {
      await withhold(origin.node, { page: drawn?.id });
      await mirror(node.node, peer, { sources: true });
      await checkHere(node);
    }
    const [document] = await node.retrievals(source?.id ?? '');
    expect((await node.node.fetch(`/archive/${document?.sha256}`)).status).toBe(200);
    expect(await seen(node.node, MARKER)).toEqual([]);
    await expectVerified(node.node);
  });

/** Draws the page of the peer here, or sends the library that it loads. */
const SAME_LIBRARY = {
  'this node drew it before': { isBefore: true, isDrawn: true },
  'this node drew it later': { isBefore: false, isDrawn: true },
  'a visitor sent it later': { isBefore: false, isDrawn: false },
};
for (const [name, { isBefore, isDrawn }] of Object.entries(SAME_LIBRARY))
  test(`a page that the peer withholds does not show because of a library that is here, too: ${name}`, async () => {
    const web = await ScriptedWeb.open();
    const lib = 'window.lib = 1;';
    const version = (title: string, text: string) =>
      page(titled(title, `<script src="/lib.js"></script><p>${text}</p>`), HTML);
    web.script('/p', version('First', `The ${MARKER} letter.`), version('Second', 'Another.'));
    web.script('/lib.js', page(lib, { headers: { 'content-type': 'text/javascript' } }));
    const origin = await openCollectingNode();
    await origin.watch(web.url('/p'), { capture: 'page' });
    await origin.check();
    const node = await openCollectingNode();
    await share(node.node, 'contribute');
    const peer = await addPeer(node.node, origin.node.url);
    await mirror(node.node, peer, { sources: true });
    const bring = async () => {
      if (!isDrawn) {
        const body = packForm(sampleRecord(), { 'lib.js': lib });
        expect((await node.node.fetch('/api/packs', { method: 'POST', body })).status).toBe(201);
        return;
      }
      const { items } = await node.read<{ items: { id: string }[] }>('/manage/sources?limit=9');
      const source = items[0]?.id ?? '';
      await node.node.sendJson('PATCH', `/manage/sources/${source}`, { paused: false, capture: 'page' });
      await node.check([source]);
    };
    if (isBefore) await bring();
    expect(await seen(node.node, MARKER)).not.toEqual([]);
    const { items } = await origin.read<{ items: PageCapture[] }>('/archive/pages');
    await withhold(origin.node, { page: items[0]?.id });
    await mirror(node.node, peer, { sources: true });
    if (!isBefore) await bring();
    expect(await seen(node.node, MARKER)).toEqual([]);
    expect((await node.node.fetch(`/archive/${sha256Of(lib)}`)).status).toBe(200);
  });

/** A peer that watches a page with a script, and the data that it loads. */
async function watchedByPeer(kind: string) {
  const web = await ScriptedWeb.open();
  const load = (path: string) =>
    `fetch('${path}').then((a) => a.text()).then((t) => document.body.append(document.title += t));`;
  const [said, data] = kind === 'document' ? [MARKER, 'harmless'] : ['', MARKER];
  const shown = titled(`Page ${said}`, `<script>${load('/data')} ${load('/count')}</script>`);
  const later = titled('Later', `<script>${load('/count')}</script>`);
  web.script('/p', page(shown, HTML), page(shown, HTML), page(later, HTML));
  web.script('/data', page(data));
  web.script('/count', page('one'), page('two'), page('three'));
  const origin = await openCollectingNode();
  const { id } = await origin.watch(web.url('/p'), { capture: 'page', name: 'Page' });
  await origin.watch(web.url('/data'), { name: 'Data' });
  await origin.check();
  const node = await openTestNode();
  const peer = await addPeer(node, origin.node.url);
  await mirror(node, peer, { sources: true });
  return { origin, id, node, peer, sha256: sha256Of(kind === 'document' ? shown : MARKER) };
}

const pagesAt = async (node: TestNode) =>
  ((await (await node.fetch('/archive/pages')).json()) as { items: PageCapture[] }).items;

test.each(['document', 'part'])(
  "a peer's page is not taken while it shows a %s that was released here",
  async (kind) => {
    const { origin, id, node, peer, sha256 } = await watchedByPeer(kind);
    const [first] = await pagesAt(node);
    for (const each of [sha256, first?.text, first?.document, first?.picture])
      await release(node, each ?? '');
    await origin.check([id]);
    const refused = [{ reason: 'released', count: 1 }];
    expect(await mirror(node, peer, { sources: true })).toMatchObject({ refused });
    expect(await filesWith(join(node.dataFolder, 'blobs'), MARKER)).toEqual([]);
    await origin.check([id]);
    expect(await mirror(node, peer, { sources: true })).toMatchObject({ refused });
    const pages = await pagesAt(node);
    expect(pages.map(({ title }) => title)).toEqual(['Laterthree', first?.title]);
    expect((await node.fetch(`/archive/${pages[0]?.text}`)).status).toBe(200);
    expect(await filesWith(join(node.dataFolder, 'blobs'), MARKER)).toEqual([]);
    await expectVerified(node);
  },
);

test.each(['document', 'part'])(
  "a peer's page comes without its title while a %s that it shows is withheld here",
  async (kind) => {
    const { origin, id, node, peer, sha256 } = await watchedByPeer(kind);
    const [first] = await pagesAt(node);
    expect(first?.title).toContain(MARKER);
    await withhold(node, { sha256 });
    await origin.check([id]);
    expect(await mirror(node, peer, { sources: true })).toMatchObject({ refused: [] });
    await show(node, { sha256 });
    await origin.check([id]);
    expect(await mirror(node, peer, { sources: true })).toMatchObject({ refused: [] });
    expect((await pagesAt(node)).map(({ title }) => title)).toEqual(['Laterthree', '', first?.title]);
    await expectVerified(node);
  },
);

test.each(['before', 'after'])(
  'a page of a peer does not hide a file of this archive with what the owner withholds %s it comes',
  async (when) => {
    const web = await ScriptedWeb.open();
    web.script('/p', page('<html><body><img src="/x.png"><p>The public report.</p></body></html>', HTML));
    web.script('/x.png', page(PNG, { headers: { 'content-type': 'image/png' } }));
    const origin = await openCollectingNode();
    await origin.watch(web.url('/p'), { capture: 'page' });
    await origin.check();
    const [drawn] = await pagesAt(origin.node);
    const text = await (await origin.node.fetch(`/archive/pages/${drawn?.id}/text`)).text();
    const { node } = await openCollectingNode();
    await uploadNewPack(node, {}, { 'report.txt': text, 'x.png': PNG });
    const peer = await addPeer(node, origin.node.url);
    if (when === 'before') await withhold(node, { sha256: sha256Of(PNG) });
    await mirror(node, peer, { sources: true });
    if (when === 'after') await withhold(node, { sha256: sha256Of(PNG) });
    const statuses = [PNG, text].map(sha256Of).concat(drawn?.picture ?? '');
    for (const [place, expected] of [451, 200, 451].entries())
      expect((await node.fetch(`/api/blobs/${statuses[place]}`)).status).toBe(expected);
  },
);

test('data of a page of this archive is withheld with it, also if a peer watches an address with the same bytes', async () => {
  const { origin: node, id } = await drawnByPeer();
  const own = await ScriptedWeb.open();
  own.script('/mine', page(MARKER));
  const other = await openCollectingNode();
  await other.watch(own.url('/mine'));
  await other.check();
  await mirror(node.node, await addPeer(node.node, other.node.url), { sources: true });
  const [drawn] = await pagesAt(node.node);
  expect(drawn?.source).toBe(id);
  await withhold(node.node, { page: drawn?.id });
  expect(await seen(node.node, MARKER)).toEqual([]);
});

test('a source that is new here is not named by the peer while its bytes are withheld', async () => {
  const web = await ScriptedWeb.open();
  const origin = await openCollectingNode();
  const node = await openTestNode();
  await uploadNewPack(node, {}, { 'a.txt': MARKER });
  await withhold(node, { sha256: sha256Of(MARKER) });
  for (const [path, body] of [
    ['/withheld', MARKER],
    ['/open', 'open'],
  ] as const) {
    web.script(path, page(body));
    await origin.watch(web.url(path), { name: `Words of ${body}` });
  }
  await origin.check();
  await mirror(node, await addPeer(node, origin.node.url), { sources: true });
  expect(await seen(node, MARKER)).toEqual([]);
  const sources = (await (await node.fetch('/api/sources')).json()) as { items: { name: string }[] };
  expect(sources.items.map(({ name }) => name)).toContain('Words of open');
});
