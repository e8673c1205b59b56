import { afterEach, expect, test } from 'vitest';
import type { ReleasePreview } from '../../shared/node/withheld.ts';
import { imported } from '../collection/captures/support.ts';
import { handIn } from '../collection/handedIn/support.ts';
import { openCollectingNode } from '../collection/support.ts';
import { release, show, withhold } from '../copies/withheldCopies.ts';
import { Dice } from '../simulate/dice.ts';
import { newMarker } from '../simulate/markers.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { closeTestNodes, DERIVING, type TestNode } from '../support/node.ts';
import { savedPage } from '../support/savedPages.ts';
import { gzippedByRecord, response } from '../support/warcFiles.ts';
import { HANDED_IN_FROM, handInWithPicture, pictureWith, SHOWN } from './handIns.ts';
import { titled } from './quotes.ts';

/* What was handed in has the bytes of others in it: a file has those of its parts, a picture shows them. */

afterEach(closeTestNodes);

const dice = new Dice(2_027);
const URL = HANDED_IN_FROM;
const svg = (word: string) => `<svg>${word}</svg>`;

/** A saved page with a drawing. */
function saved(document: string, drawing: string): Buffer {
  const location = 'http://elsewhere.example/picture.svg';
  return savedPage(URL, [
    { type: 'text/html', location: URL, content: document },
    { type: 'image/svg+xml', location, content: drawing },
  ]);
}

/** What a visitor gets for each of these bytes. */
const gets = (node: TestNode, ...contents: (string | Uint8Array)[]) =>
  Promise.all(contents.map(async (each) => (await node.fetch(`/archive/${sha256Of(each)}`)).status));

test('the file and the picture of what is handed in with a file of a withheld pack are not shown', async () => {
  const { node } = await openCollectingNode();
  const [document, drawing, picture] = [titled('Open'), svg(newMarker(dice)), pictureWith(newMarker(dice))];
  const { id } = await uploadNewPack(node, {}, { 'a.svg': drawing });
  await withhold(node, { pack: id });
  const file = saved(document, drawing);
  await handInWithPicture(node, file, picture);
  expect(await gets(node, file, picture, drawing)).toEqual([451, 451, 451]);
  expect(await gets(node, document)).toEqual([200]);
  await show(node, { pack: id });
  expect(await gets(node, file, picture, drawing)).toEqual([200, 200, 200]);
});

test.each(['pack', 'object'])(
  'a file that was withheld as a %s is handed in later: its document and its parts are not shown',
  async (kind) => {
    const { node } = await openCollectingNode({}, DERIVING);
    const word = newMarker(dice);
    const [document, drawing, picture] = [titled('Page', word), svg(newMarker(dice)), pictureWith('')];
    const file = saved(document, drawing);
    const { id } = await uploadNewPack(node, {}, { 'page.mhtml': new Uint8Array(file) });
    const target = kind === 'pack' ? { pack: id } : { sha256: sha256Of(file) };
    await withhold(node, target);
    await handInWithPicture(node, file, picture);
    expect(await gets(node, file, document, drawing, picture)).toEqual([451, 451, 451, 451]);
    const found = async (reader: 'fetch' | 'fetchAsOwner') =>
      ((await (await node[reader](`/api/search?q=${word}`)).json()) as { total: number }).total;
    await eventually(async () => expect(await found('fetchAsOwner')).toBe(1));
    expect(await found('fetch')).toBe(0);
    await show(node, target);
    expect(await gets(node, file, document, drawing, picture)).toEqual([200, 200, 200, 200]);
  },
);

test('a document that is withheld is handed in later: its file, its parts and its picture are not shown', async () => {
  const { node } = await openCollectingNode();
  const [document, drawing, picture] = [titled('Page'), svg(newMarker(dice)), pictureWith('')];
  await uploadNewPack(node, {}, { 'page.html': document });
  await withhold(node, { sha256: sha256Of(document) });
  const file = saved(document, drawing);
  await handInWithPicture(node, file, picture);
  expect(await gets(node, file, document, drawing, picture)).toEqual([451, 451, 451, 451]);
});

test('a part that somebody else observed stays shown when the document is withheld', async () => {
  const opened = await openCollectingNode();
  const { node } = opened;
  const [document, drawing] = [titled('Page'), svg(newMarker(dice))];
  await uploadNewPack(node, {}, { 'page.html': document });
  await imported(opened, gzippedByRecord([response(drawing, { uri: 'http://others.example/a.svg' })]));
  await withhold(node, { sha256: sha256Of(document) });
  const file = saved(document, drawing);
  await handIn(node, file, 'multipart/related', SHOWN);
  expect(await gets(node, file, document, drawing)).toEqual([451, 451, 200]);
});

test('a part that somebody else brought later stays withheld when the reason is corrected', async () => {
  const opened = await openCollectingNode();
  const { node } = opened;
  const [document, drawing] = [titled('Page'), svg(newMarker(dice))];
  const { retrieval } = await handIn(node, saved(document, drawing), 'multipart/related', { url: URL });
  await imported(opened, gzippedByRecord([response(drawing, { uri: 'http://others.example/a.svg' })]));
  expect(await gets(node, document, drawing)).toEqual([451, 451]);
  await withhold(node, { retrieval }, 'personal_data');
  expect(await gets(node, document, drawing)).toEqual([451, 451]);
  await show(node, { retrieval });
  expect(await gets(node, document, drawing)).toEqual([200, 200]);
});

test.each([['login'], ['personal_data', 'login']])(
  'what was handed in with a part that the owner withholds for %s is not shown',
  async (...reasons) => {
    const { node } = await openCollectingNode();
    const [drawing, picture] = [svg(newMarker(dice)), pictureWith(newMarker(dice))];
    const file = saved(titled('Open'), drawing);
    await handInWithPicture(node, file, picture);
    for (const reason of reasons) await withhold(node, { sha256: sha256Of(drawing) }, reason);
    expect(await gets(node, drawing, file, picture)).toEqual([451, 451, 451]);
  },
);

test.each(['before', 'after'])(
  'what was handed in %s a part of it was handed in and withheld is not shown',
  async (when) => {
    const { node } = await openCollectingNode();
    const drawing = svg(newMarker(dice));
    const own = savedPage(URL, [{ type: 'image/svg+xml', location: URL, content: drawing }]);
    const file = saved(titled('Outer'), drawing);
    const outer = () => handIn(node, file, 'multipart/related', SHOWN);
    if (when === 'before') await outer();
    await handIn(node, own, 'multipart/related', { url: URL });
    if (when === 'after') await outer();
    expect(await gets(node, drawing, file)).toEqual([451, 451]);
  },
);

test('the preview of a release names what was handed in with the bytes in it', async () => {
  const [opened, word] = [await openCollectingNode(), newMarker(dice)];
  const { node } = opened;
  const handed = await handIn(node, saved(titled('Page'), svg(word)), 'multipart/related', SHOWN);
  const preview = (sha256: string) =>
    opened.read<ReleasePreview>(`/manage/released/preview?sha256=${sha256}`);
  const named = { total: 1, items: [{ id: handed.id, url: URL, file: handed.file.sha256 }] };
  for (const sha256 of [sha256Of(svg(word)), handed.document, handed.file.sha256])
    expect(await preview(sha256)).toMatchObject({ handed_in: named });
  await release(node, sha256Of(svg(word)));
  expect(await preview(handed.document)).toMatchObject({ handed_in: named });
});

test('what was handed in with the document of a withheld file is not shown, in whatever order they come', async () => {
  const { node } = await openCollectingNode();
  const document = titled('Page', newMarker(dice));
  const one = (boundary: string) =>
    savedPage(URL, [{ type: 'text/html', location: URL, content: document }], boundary);
  const files = [one('--one'), one('--two'), one('--three')] as const;
  const pictures = [0, 1, 2].map(() => pictureWith(newMarker(dice)));
  await handInWithPicture(node, files[0], pictures[0] as Buffer);
  await handInWithPicture(node, files[1], pictures[1] as Buffer);
  await withhold(node, { sha256: sha256Of(files[0]) });
  await handInWithPicture(node, files[2], pictures[2] as Buffer);
  expect(await gets(node, document, ...files, ...pictures)).toEqual(Array(7).fill(451));
  await show(node, { sha256: sha256Of(files[0]) });
  expect(await gets(node, document, ...files, ...pictures)).toEqual(Array(7).fill(200));
});
