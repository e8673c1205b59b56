import { get } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import type { PageList } from '../../shared/collection/page.ts';
import { imported } from '../collection/captures/support.ts';
import { CollectingNode, openCollectingNode } from '../collection/support.ts';
import { release, withhold } from '../copies/withheldCopies.ts';
import { Dice } from '../simulate/dice.ts';
import { newMarker } from '../simulate/markers.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { publishedSet, uploadManifest } from '../support/archive/sets.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { savedPage } from '../support/savedPages.ts';
import { gzippedByRecord, response } from '../support/warcFiles.ts';
import { HANDED_IN_FROM, handInWithPicture, pictureWith } from './handIns.ts';
import { HTML, titled } from './quotes.ts';
import { builtInterface } from './support.ts';

/* A download that is under way ends when its bytes are withheld: a slow one may take hours. */

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const dice = new Dice(2_028);
/** More than the buffers between a node and its reader take. */
const FILES = 6;
const FILE_BYTES = 4_000_000;

/** Files that end with a marker each. */
function markedFiles(): { markers: string[]; files: Record<string, Buffer<ArrayBuffer>> } {
  const markers = Array.from({ length: FILES }, () => newMarker(dice));
  const content = (marker: string) => Buffer.from(marker.padStart(FILE_BYTES, '.'));
  return {
    markers,
    files: Object.fromEntries(markers.map((marker, index) => [`${index}.txt`, content(marker)])),
  };
}

/** Begins to read an answer as a visitor, does something, and reads on. Returns what came, and whether that was all. */
function readAround(
  node: TestNode,
  path: string,
  meanwhile: () => Promise<void>,
  headers: Record<string, string> = {},
): Promise<{ text: string; isWhole: boolean }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ text: string; isWhole: boolean }>();
  const request = get(new URL(path, node.url), { headers }, (answer) => {
    expect(answer.statusCode).toBe(headers.Range === undefined ? 200 : 206);
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => void chunks.push(chunk));
    answer.once('data', () => {
      answer.pause();
      meanwhile().then(() => answer.resume(), reject);
    });
    answer.on('error', () => {
      // It is broken off, as it is meant to be: then `close` comes, too.
    });
    answer.on('close', () =>
      resolve({ text: Buffer.concat(chunks).toString('latin1'), isWhole: answer.complete }),
    );
  });
  request.on('error', reject);
  return promise;
}

async function expectBrokenOff(
  node: TestNode,
  path: string,
  last: string,
  meanwhile: () => Promise<void>,
  headers: Record<string, string> = {},
): Promise<void> {
  const whole = await readAround(node, path, async () => {}, headers);
  expect([whole.isWhole, whole.text.includes(last)]).toEqual([true, true]);
  const { isWhole, text } = await readAround(node, path, meanwhile, headers);
  expect([isWhole, text.includes(last)]).toEqual([false, false]);
}

test('the ZIP of a set', async () => {
  const node = await openTestNode({ packBytes: FILE_BYTES });
  const { files, markers } = markedFiles();
  const { manifest } = await publishedSet(node, files);
  await expectBrokenOff(node, `/api/packs/${manifest.id}/set/download`, markers.at(-1) ?? '', () =>
    withhold(node, { pack: manifest.id }),
  );
});

test('a file that a set has in parts', async () => {
  const node = await openTestNode({ packBytes: FILE_BYTES });
  const { files, markers } = markedFiles();
  const { manifest } = await publishedSet(node, { large: Buffer.concat(Object.values(files)) });
  await expectBrokenOff(node, `/api/packs/${manifest.id}/set/files/large`, markers.at(-1) ?? '', () =>
    withhold(node, { pack: manifest.id }),
  );
});

/** Many names, longer together than the buffers between a node and its reader. */
const NAMES = 20_000;

test('the names of the files of a set, whose list is withheld', async () => {
  const [node, marker] = [await openTestNode(), newMarker(dice)];
  const piece = Buffer.from('The same part.');
  const { id: pack } = await uploadNewPack(node, { title: 'Part' }, { piece });
  const [bytes, sha256] = [piece.length, sha256Of(piece)];
  const folder = ['a', 'b', 'c'].map((letter) => letter.repeat(200)).join('/');
  const paths = Array.from(
    { length: NAMES },
    (_, index) => `${folder}/${String(index).padStart(6, '0')}.txt`,
  );
  const files = [...paths, `z/${marker}.txt`].map((path) => {
    return { path, bytes, sha256, parts: [{ pack, path: 'piece', bytes, sha256 }] };
  });
  const made = await uploadManifest(node, { format: 'strongroom-set@1', files });
  expect(made.status).toBe(201);
  const { id } = (await made.json()) as { id: string };
  await expectBrokenOff(node, `/api/packs/${id}/set`, marker, () => withhold(node, { pack: id }));
});

test('a part of a withheld file, when the set is published that says so', async () => {
  const node = await openTestNode();
  const { files, markers } = markedFiles();
  const pieces = [Buffer.concat(Object.values(files)), Buffer.from('The end.')];
  const whole = Buffer.concat(pieces);
  await uploadNewPack(node, {}, { whole });
  await withhold(node, { sha256: sha256Of(whole) });
  const parts: object[] = [];
  for (const piece of pieces) {
    const { id: pack } = await uploadNewPack(node, { title: `Part ${parts.length}` }, { piece });
    parts.push({ pack, path: 'piece', bytes: piece.length, sha256: sha256Of(piece) });
  }
  const file = { path: 'whole', bytes: whole.length, sha256: sha256Of(whole), parts };
  const address = `/api/blobs/${sha256Of(pieces[0] ?? '')}`;
  await expectBrokenOff(node, address, markers.at(-1) ?? '', async () => {
    const manifest = { format: 'strongroom-set@1', files: [file] };
    expect((await uploadManifest(node, manifest)).status).toBe(201);
  });
});

test('the file of a hand-in, when it is handed in and its document is withheld', async () => {
  const { node } = await openCollectingNode();
  const { files, markers } = markedFiles();
  const hidden = Buffer.from('<p>Hidden.');
  await uploadNewPack(node, {}, { 'hidden.html': hidden });
  await withhold(node, { sha256: sha256Of(hidden) });
  const large = Buffer.concat(Object.values(files));
  const file = savedPage(HANDED_IN_FROM, [
    { type: 'text/html', location: HANDED_IN_FROM, content: hidden },
    { type: 'text/plain', location: `${HANDED_IN_FROM}.txt`, content: large },
  ]);
  await uploadNewPack(node, {}, { 'page.mhtml': Buffer.from(file) });
  await expectBrokenOff(node, `/api/blobs/${sha256Of(file)}`, markers.at(-1) ?? '', () =>
    handInWithPicture(node, file, pictureWith('Shown.')).then(() => undefined),
  );
});

test('a pack file, of which one file is withheld', async () => {
  const node = await openTestNode();
  const { files, markers } = markedFiles();
  const { id } = await uploadNewPack(node, {}, files);
  await expectBrokenOff(node, `/api/packs/${id}/file`, markers.at(-1) ?? '', () =>
    withhold(node, { sha256: sha256Of(files['5.txt'] ?? '') }),
  );
});

test.each([
  ['withheld', withhold],
  ['released', (node: TestNode, { sha256 }: { sha256: string }) => release(node, sha256)],
] as const)('an object that is %s', async (_how, hide) => {
  const node = await openTestNode();
  const { files, markers } = markedFiles();
  const large = Buffer.concat(Object.values(files));
  await uploadNewPack(node, {}, { large });
  const sha256 = sha256Of(large);
  await expectBrokenOff(node, `/api/blobs/${sha256}`, markers.at(-1) ?? '', () => hide(node, { sha256 }));
});

test('an object of which many small ranges are asked for', async () => {
  const node = await openTestNode();
  const { files, markers } = markedFiles();
  const large = Buffer.concat(Object.values(files));
  await uploadNewPack(node, {}, { large });
  const sha256 = sha256Of(large);
  const [count, bytes] = [60, large.length / 60];
  const ranges = Array.from({ length: count }, (_, at) => `${at * bytes}-${(at + 1) * bytes - 1}`);
  const hide = () => withhold(node, { sha256 });
  const headers = { Range: `bytes=${ranges.join(', ')}` };
  await expectBrokenOff(node, `/api/blobs/${sha256}`, markers.at(-1) ?? '', hide, headers);
});

test('the bag of a case', async () => {
  const node = await openTestNode({ rendererFolder: await builtInterface() });
  const { files, markers } = markedFiles();
  const { id } = await uploadNewPack(node, {}, files);
  const items = [{ kind: 'pack', id }];
  const made = await node.sendJson('POST', '/manage/cases', { title: 'Case', items });
  const { id: own } = (await made.json()) as { id: string };
  await expectBrokenOff(node, `/api/cases/${own}/bag`, markers.at(-1) ?? '', () =>
    withhold(node, { pack: id }),
  );
});

/** An object that stays as large when it is compressed, and ends with a marker. */
async function importedObject(node: TestNode): Promise<{ marker: string; sha256: string }> {
  const marker = newMarker(dice);
  const noise = dice.bytes(1_000_000);
  const megabytes = Array.from({ length: (FILES * FILE_BYTES) / noise.length }, () => noise);
  const large = Buffer.concat([...megabytes, Buffer.from(marker)]);
  const file = response(large, { uri: 'http://large.example/' });
  await imported(new CollectingNode(node), gzippedByRecord([file]));
  return { marker, sha256: sha256Of(large) };
}

test.each([
  ['withheld', withhold],
  ['released', (node: TestNode, { sha256 }: { sha256: string }) => release(node, sha256)],
] as const)('a WARC file, at an object that is %s', async (_how, hide) => {
  const node = await openTestNode();
  const { marker, sha256 } = await importedObject(node);
  await expectBrokenOff(node, '/api/warc', marker, () => hide(node, { sha256 }));
});

test('a WACZ package, at an object that is withheld', async () => {
  const node = await openTestNode();
  const { sha256 } = await importedObject(node);
  const whole = await readAround(node, '/api/wacz', async () => {});
  const { isWhole, text } = await readAround(node, '/api/wacz', () => withhold(node, { sha256 }));
  expect([whole.isWhole, isWhole, text.length < whole.text.length]).toEqual([true, false, true]);
});

test('the text of a page in the list of a WACZ package, which comes last', async () => {
  const [web, node, marker] = [await ScriptedWeb.open(), await openCollectingNode(), newMarker(dice)];
  web.script('/', page(titled('A page', marker), HTML));
  const { id } = await node.watch(web.url('/'), { capture: 'page' });
  await node.check();
  const { items } = await node.read<PageList>(`/archive/pages?source=${id}`);
  await importedObject(node.node);
  const packaged = (meanwhile: () => Promise<void>) => readAround(node.node, '/api/wacz', meanwhile);
  const before = await packaged(async () => {});
  const after = await packaged(() => withhold(node.node, { page: items[0]?.id }));
  // The files with the archived bytes are compressed.
  expect([before, after].map(({ isWhole, text }) => [isWhole, text.includes(marker)])).toEqual([
    [true, true],
    [true, false],
  ]);
});

test('one that has nothing of what is withheld goes on', async () => {
  const node = await openTestNode();
  const { files, markers } = markedFiles();
  const { id } = await uploadNewPack(node, {}, files);
  const { id: other } = await uploadNewPack(node, { title: 'Another' }, { other: 'other' });
  const { isWhole, text } = await readAround(node, `/api/packs/${id}/file`, () =>
    withhold(node, { pack: other }),
  );
  expect([isWhole, markers.every((marker) => text.includes(marker))]).toEqual([true, true]);
});
