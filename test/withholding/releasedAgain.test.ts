import { afterEach, expect, test } from 'vitest';
import type { RecordImport } from '../../shared/archive/recordImport.ts';
import type { PageList } from '../../shared/collection/page.ts';
import type { WatchedSource } from '../../shared/collection/source.ts';
import { sendFile } from '../collection/handedIn/support.ts';
import { openCollectingNode } from '../collection/support.ts';
import { filesWith, release, withhold } from '../copies/withheldCopies.ts';
import { Dice } from '../simulate/dice.ts';
import { newMarker } from '../simulate/markers.ts';
import { publish } from '../support/archive/drafts.ts';
import { sampleRecord, sha256Of } from '../support/archive/packs.ts';
import { CC_BY, type FileStep } from '../support/network/repositoryRecords.ts';
import {
  breakAfter,
  closeRepositoryServers,
  RepositoryServer,
  sendWhole,
} from '../support/network/repositoryServer.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING } from '../support/node.ts';
import { savedPage } from '../support/savedPages.ts';
import { HANDED_IN_FROM, SHOWN } from './handIns.ts';
import { HTML, seen, titled } from './quotes.ts';
import { isClean } from './support.ts';

/* Bytes that were given up come again, within others. */

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
  await closeRepositoryServers();
});

const dice = new Dice(4_711);

test.each(['document', 'part'])(
  'a file is refused if it has bytes that were given up, as its %s',
  async (kind) => {
    const { node } = await openCollectingNode({}, DERIVING);
    const marker = newMarker(dice);
    const given = kind === 'document' ? titled('Page', marker) : `<svg>${marker}</svg>`;
    const saved = (boundary: string) =>
      savedPage(
        HANDED_IN_FROM,
        [
          {
            type: 'text/html',
            location: HANDED_IN_FROM,
            content: kind === 'document' ? given : titled(boundary),
          },
          {
            type: 'image/svg+xml',
            location: 'http://elsewhere.example/x.svg',
            content: kind === 'document' ? '<svg/>' : given,
          },
        ],
        boundary,
      );
    expect((await sendFile(node, saved('--one'), 'multipart/related', SHOWN)).status).toBe(201);
    await withhold(node, { sha256: sha256Of(given) });
    await release(node, sha256Of(given));
    const again = await sendFile(node, saved('--two'), 'multipart/related', SHOWN);
    expect([again.status, await again.json()]).toEqual([410, expect.objectContaining({ code: 'released' })]);
    expect(await seen(node, marker)).toEqual([]);
    // Nothing of it is kept, and the node goes on.
    expect((await node.fetch(`/archive/${sha256Of(saved('--two'))}`)).status).toBe(404);
    expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
  },
);

test('of a page that shows bytes that were given up nothing is kept, until it no longer shows them', async () => {
  const [web, node] = [await ScriptedWeb.open(), await openCollectingNode({}, DERIVING)];
  const marker = newMarker(dice);
  web.script('/data.txt', page(marker));
  const { id: data } = await node.watch(web.url('/data.txt'));
  await node.check([data]);
  await release(node.node, sha256Of(marker));
  const shows = `<script>fetch('/data.txt').then((a) => a.text()).then((t) => document.body.append(t))</script>`;
  web.script('/page', page(titled('Drawn', shows), HTML));
  const { id } = await node.watch(web.url('/page'), { capture: 'page' });
  await node.check([id]);
  const state = async () => (await node.read<WatchedSource>(`/api/sources/${id}`)).page_error;
  const pages = async () => (await node.read<PageList>(`/archive/pages?source=${id}`)).items.length;
  expect([await state(), await pages(), await seen(node.node, marker)]).toEqual(['page_released', 0, []]);
  web.script('/page', page(titled('Drawn', 'Other words.'), HTML));
  await node.check([id]);
  expect([await state(), await pages()]).toEqual([null, 1]);
});

const CUT = [breakAfter(9), breakAfter(20), sendWhole];

/** A node, and a way to import a file that says a word, as a record whose file is sent in these steps. */
async function importing(marker: string) {
  const repository = await RepositoryServer.open('invenio');
  const { node } = await openCollectingNode({}, DERIVING);
  const settings = { doi_resolver: repository.resolver, retry_delays_seconds: [0, 0] };
  expect((await node.sendJson('PATCH', '/manage/settings', settings)).status).toBe(200);
  const bytes = Buffer.from(`name,address\nA,first line\nB,second line\nC,${marker}\n`);
  const importFile = async (id: string, steps: FileStep[]) => {
    const files = [{ name: 'people.csv', bytes, steps }];
    const { doi } = repository.add({ id, title: 'People', doi: `10.5072/FK2.${id}`, license: CC_BY, files });
    const answer = await node.sendJson('POST', '/manage/import?wait=true', { doi });
    expect(answer.status, await answer.clone().text()).toBe(201);
    return (await answer.json()) as RecordImport;
  };
  return { node, sha256: sha256Of(bytes), importFile };
}

test.each([
  ['whole', [sendWhole]],
  ['in pieces', CUT],
])('a file that was imported %s is withheld and released with all of its bytes', async (_how, steps) => {
  const marker = newMarker(dice);
  const { node, sha256, importFile } = await importing(marker);
  const imported = await importFile('1', steps);
  expect(imported.files).toMatchObject([{ path: 'people.csv', state: 'held' }]);
  const record = sampleRecord({ title: 'People', files: undefined });
  await node.sendJson('PATCH', `/manage/drafts/${imported.draft}`, { record });
  expect((await publish(node, imported.draft)).status).toBe(201);
  expect(await (await node.fetch(`/api/blobs/${sha256}`)).text()).toContain(marker);
  await withhold(node, { sha256 });
  expect(await seen(node, marker)).toEqual([]);
  await release(node, sha256);
  await isClean(node);
  expect([await seen(node, marker), await filesWith(node.dataFolder, marker)]).toEqual([[], []]);
});

test('a file that was given up is not taken again in pieces either', async () => {
  const marker = newMarker(dice);
  const { node, sha256, importFile } = await importing(marker);
  const { draft } = await importFile('1', [sendWhole]);
  expect((await node.fetchAsOwner(`/manage/drafts/${draft}`, { method: 'DELETE' })).status).toBe(204);
  await release(node, sha256);
  expect((await importFile('2', CUT)).files).toMatchObject([{ path: 'people.csv', state: 'failed' }]);
  await isClean(node);
  expect([await seen(node, marker), await filesWith(node.dataFolder, marker)]).toEqual([[], []]);
});
