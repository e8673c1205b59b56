import { cp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { PageList } from '../../shared/collection/page.ts';
import { imported } from '../collection/captures/support.ts';
import { handIn } from '../collection/handedIn/support.ts';
import { addProfile, members } from '../collection/profiles/support.ts';
import { CollectingNode, openCollectingNode } from '../collection/support.ts';
import { addCopy, drill, release, show, sync, withhold } from '../copies/withheldCopies.ts';
import { addPeer, mirror } from '../peers/support.ts';
import { Dice } from '../simulate/dice.ts';
import { markersInFolder, newMarker } from '../simulate/markers.ts';
import { markersShownTo, namesIn, streamedTo } from '../simulate/visitor.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { publishedSet } from '../support/archive/sets.ts';
import { eventually } from '../support/eventually.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, DERIVING, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { savedPage } from '../support/savedPages.ts';
import { gzippedByRecord, response } from '../support/warcFiles.ts';

/*
 * What a withholding covers is the same after every way of restoring an archive. One archive has a thing of each kind that
 * can be withheld; afterwards others bring the same bytes, which changes nothing. Each way makes an archive of it, and a
 * visitor of that archive gets the same as before, byte for byte.
 */

const PASSPHRASE = 'correct horse battery';
const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };

const dice = new Dice(20_261_128);
/** The markers of what visitors must not get, and of what nobody gets any more. */
const hidden: Record<string, string> = {};
const released: Record<string, string> = {};
/** The markers of what visitors get. */
const open: Record<string, string> = {};

const marked = (group: Record<string, string>, name: string) => (group[name] ??= newMarker(dice));
const html = (word: string) => `<!doctype html><title>Page</title><body><p>One ${word} here.</p></body>`;

let root: string;
/** The closed data folder, a copy with pages of it, its dump and its export. */
let data: string;
let place: string;
let backup: string;
let dump: string;
let zip: string;
let origin: TestNode;
let first: Map<string, Answer>;
let keptDatabase: string;

type Answer = readonly [status: number, sha256: string];

const visitor = (node: TestNode) => (address: string) =>
  fetch(new URL(address, node.url), { redirect: 'manual' });

/** What a visitor gets of every object, and of what is made of objects. */
async function answersOf(node: TestNode): Promise<Map<string, Answer>> {
  const get = visitor(node);
  const { digests, ids, mementos } = await namesIn(get);
  const addresses = [
    ...digests.flatMap((each) => [`/api/blobs/${each}`, `/archive/${each}`, `/archive/${each}/text`]),
    ...(ids.pk ?? []).flatMap((id) => [`/api/packs/${id}/file`, `/api/packs/${id}/set/download`]),
    ...(ids.pg ?? []).flatMap((id) =>
      ['picture', 'text', 'document'].map((part) => `/archive/pages/${id}/${part}`),
    ),
    ...mementos.map(([time, url]) => `/memento/${time}/${url}`),
  ];
  const answers = new Map<string, Answer>();
  for (const address of addresses) {
    const answer = await get(address);
    const body = Buffer.from(await answer.arrayBuffer());
    // What a text was derived by and when is not of the archive.
    const isSame = answer.status === 200 && !address.endsWith('/text');
    answers.set(address, [answer.status, isSame ? sha256Of(body) : '']);
  }
  return answers;
}

/** Makes a thing of each kind, withholds it, and then has others bring the same bytes. */
async function fill(node: CollectingNode, web: ScriptedWeb): Promise<void> {
  const { node: own } = node;
  const warc = (uri: string, ...bodies: string[]) =>
    imported(node, gzippedByRecord(bodies.map((body, index) => response(body, { uri: `${uri}${index}` }))));
  const pagesOf = async (source: string) =>
    (await node.read<PageList>(`/archive/pages?source=${source}`)).items;

  const saved = (name: string, style: string, font: string) =>
    savedPage(`http://elsewhere.example/${name}`, [
      {
        type: 'text/html',
        location: `http://elsewhere.example/${name}`,
        content: html(marked(hidden, `${name}, document`)),
      },
      { type: 'text/css', location: 'http://elsewhere.example/own.css', content: style },
      { type: 'text/css', location: 'http://elsewhere.example/font.css', content: font },
    ]);
  const font = `body { font-family: ${marked(open, 'part that others had before')} }`;
  await warc('http://fonts.example/', font);

  const style = `p { color: ${marked(hidden, 'part of a hand-in')} }`;
  await handIn(own, saved('letter', style, font), 'multipart/related');

  const shownStyle = `p { color: ${marked(open, 'part of a hand-in that others had before it was withheld again')} }`;
  const again = await handIn(own, saved('again', shownStyle, font), 'multipart/related', {
    withheld: 'false',
  });
  await withhold(own, { retrieval: again.retrieval });
  await show(own, { retrieval: again.retrieval });

  const early = `p { margin: ${marked(hidden, 'part of a later hand-in')} }`;
  await warc('http://styles.example/', early);
  await withhold(own, { sha256: sha256Of(early) });
  const later = savedPage('http://elsewhere.example/later', [
    { type: 'text/html', location: 'http://elsewhere.example/later', content: html('later') },
    { type: 'text/css', location: 'http://elsewhere.example/early.css', content: early },
  ]);
  await handIn(own, later, 'multipart/related', { withheld: 'false' });

  const sent = `fetch('/sent', { method: 'POST', body: '${marked(hidden, 'sent by a page')}' })`;
  web.script('/sent', page('Thank you.'));
  const script = `${sent}; fetch('/word').then((r) => r.text()).then((word) => document.body.append(word))`;
  web.script(
    '/drawn',
    page(`<!doctype html><title>Page</title><body><script>${script}</script></body>`, HTML),
  );
  web.script('/word', page(marked(hidden, 'part of a page')), page(marked(hidden, 'part of a later page')));
  const { id: drawn } = await node.watch(web.url('/drawn'), { capture: 'page' });
  await node.check();
  const [capture] = await pagesOf(drawn);
  await withhold(own, { page: capture?.id });
  // It is drawn again from the document, which is withheld with the first capture.
  await node.check([drawn]);
  expect(await pagesOf(drawn)).toHaveLength(2);

  const version = (name: string) => page(html(marked(hidden, name)), HTML);
  web.script('/versions', version('object'), version('retrieval'), page(html(marked(released, 'object'))));
  const { id: versions } = await node.watch(web.url('/versions'));
  for (let round = 0; round < 3; round += 1) await node.check([versions]);
  const [one, two] = await node.retrievals(versions);
  await withhold(own, { sha256: one?.sha256 });
  await withhold(own, { retrieval: two?.id });

  const { id: profile } = await addProfile(node);
  web.script('/members', members(html(marked(hidden, 'login'))));
  const login = await node.watch(web.url('/members'), { profile });
  await node.check([login.id]);

  const text = marked(hidden, 'file of a pack');
  const both = { 'a.txt': text, 'b.txt': marked(hidden, 'other file of a pack') };
  const { id: pack } = await uploadNewPack(own, sampleRecord(), both);
  await withhold(own, { pack });
  await uploadNewPack(own, sampleRecord({ title: 'The same file' }), { 'c.txt': text });
  const single = marked(hidden, 'object of a pack');
  await uploadNewPack(own, sampleRecord({ title: 'Two' }), {
    'd.txt': single,
    'e.txt': marked(open, 'file'),
  });
  await withhold(own, { sha256: sha256Of(single) });

  const large = Buffer.alloc(12_000, `${marked(hidden, 'file of a set')} `);
  const set = await publishedSet(own, {
    'large.txt': large,
    'b.txt': Buffer.from(marked(hidden, 'small file of a set')),
  });
  await withhold(own, { pack: set.manifest.id });

  const passage = marked(open, 'pack of a finding');
  const { id: found } = await uploadNewPack(own, sampleRecord({ title: 'Found' }), { 'f.txt': passage });
  const sealed = await own.sendJson('POST', '/manage/findings', {
    target: { kind: 'pack', id: found },
    text: marked(hidden, 'sealed finding'),
    sealed: true,
  });
  expect(sealed.status).toBe(201);

  const secret = marked(released, 'file of a pack');
  await uploadNewPack(own, sampleRecord({ title: 'Released' }), { 'r.txt': secret });
  await release(own, sha256Of(secret));
  await release(own, sha256Of(html(marked(released, 'object'))));

  // Others bring the same bytes now. A part that is withheld stays so, and what is withheld only now has it shown.
  await warc('http://later.example/', style, shownStyle);
  await withhold(own, { retrieval: again.retrieval });
  await node.watch(web.url('/word'));
  await node.check();
}

beforeAll(async () => {
  root = await temporaryFolder();
  [data, place, backup, dump, zip] = ['data', 'copy', 'backup', 'dump.jsonl', 'archive.zip'].map((name) =>
    join(root, name),
  ) as [string, string, string, string, string];
  keptDatabase = join(root, 'kept.db');
  const web = await ScriptedWeb.open();
  const node = await openCollectingNode({}, { ...DERIVING, dataFolder: data, packBytes: 10_000 });
  await fill(node, web);
  origin = node.node;
  await eventually(async () =>
    expect(await node.read(`/api/search?q=${open['file']}`)).toMatchObject({ total: 1 }),
  );
  const copy = await addCopy(origin, place);
  await sync(origin, copy);
  const kept = await origin.sendJson('PUT', `/manage/copies/${copy.id}/key`, { passphrase: PASSPHRASE });
  expect(kept.status).toBe(200);
  expect(await drill(origin, copy)).toMatchObject({ outcome: 'restored' });
  await sync(origin, await addCopy(origin, backup, { pages: false }));
  first = await answersOf(origin);
  await writeFile(zip, await (await origin.fetchAsOwner('/manage/archive.zip')).bytes());
});
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const never = () => [...Object.values(hidden), ...Object.values(released)];

test('before, visitors get what is open and nothing that is withheld or released', async () => {
  const statuses = (status: number) => [...first.values()].filter(([each]) => each === status).length;
  expect([statuses(451) > 20, statuses(410) >= 4, statuses(200) > 10]).toEqual([true, true, true]);
  const get = visitor(origin);
  const shown = await markersShownTo(get, [...never(), ...Object.values(open)]);
  expect(shown.filter(({ marker }) => never().includes(marker))).toEqual([]);
  // What is open is found, so the search does find.
  for (const [name, marker] of Object.entries(open))
    expect(
      shown.some((sighting) => sighting.marker === marker),
      name,
    ).toBe(true);
  const stream = await streamedTo((address, init) => origin.fetch(address, init));
  expect(never().filter((marker) => stream.includes(marker))).toEqual([]);
  expect(await markersInFolder(place, never())).toEqual([]);
});

/** Opens what was restored, and requires that a visitor gets the same of it. */
async function requireSame(dataFolder: string, { isReadOnly = false } = {}): Promise<void> {
  if (isReadOnly) expect(await runHere(['key', '--renew', '--data', dataFolder])).toMatchObject({ code: 0 });
  const node = await openTestNode({ ...DERIVING, dataFolder, packBytes: 10_000 });
  expect(Object.fromEntries(await answersOf(node))).toEqual(Object.fromEntries(first));
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true, problems: [] });
  expect(await markersShownTo(visitor(node), never())).toEqual([]);
  await node.close();
}

test('a mirror', async () => {
  const node = await openTestNode({ packBytes: 10_000 });
  const peer = await addPeer(node, origin.url);
  await mirror(node, peer, { packs: true, sources: true });
  await mirror(node, peer, { packs: true, sources: true });
  for (const [address, [status]] of await answersOf(node)) {
    const [there] = first.get(address) ?? [0];
    if (there !== 200) expect([address, status], address).not.toEqual([address, 200]);
  }
  expect(await markersShownTo(visitor(node), never())).toEqual([]);
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
  await node.close();
});

test('an import of a dump, and of an export', async () => {
  // What visitors and a mirror asked for may have been recorded. A rebuild needs a dump with all that was acknowledged.
  await writeFile(dump, await (await origin.fetch('/api/dump.jsonl')).text());
  await origin.close();
  await cp(join(data, 'strongroom.db'), keptDatabase);
  const imports = [zip, dump].map((file) => [file, join(root, `imported-${file.length}`)] as const);
  for (const [file, folder] of imports)
    expect(await runHere(['import', file, '--data', folder])).toMatchObject({ code: 0, stderr: '' });
  await requireSame(imports[0]?.[1] ?? '');
  // A dump has no bytes: a visitor still reads that what is withheld is withheld, and what is released released.
  const node = await openTestNode({ dataFolder: imports[1]?.[1] ?? '' });
  const hiddenOf = (answers: Map<string, Answer>) =>
    [...answers].filter(([, [status]]) => status === 451 || status === 410);
  expect(hiddenOf(await answersOf(node))).toEqual(hiddenOf(first));
  await node.close();
});

test('a restore of a copy with pages, which does not have what is withheld', async () => {
  vi.stubEnv('STRONGROOM_PASSPHRASE', PASSPHRASE);
  const folder = join(root, 'from-pages');
  expect((await runHere(['restore', place, '--data', folder, '--key'])).code).toBe(0);
  await requireSame(folder, { isReadOnly: true });
});

test('a restore of a copy without pages', async () => {
  const folder = join(root, 'from-backup');
  const identity = ['--identity', join(data, 'withheld.key')];
  expect(await runHere(['restore', backup, '--data', folder, ...identity])).toMatchObject({ code: 0 });
  await requireSame(folder, { isReadOnly: true });
});

test('a rebuild of the database', async () => {
  const folder = join(root, 'rebuilt');
  await cp(data, folder, { recursive: true });
  await rm(join(folder, 'strongroom.db'));
  expect(await runHere(['rebuild', folder, '--dump', dump])).toMatchObject({ code: 0, stderr: '' });
  await requireSame(folder);
});

test('an accepted rollback', async () => {
  const folder = join(root, 'rolled-back');
  await cp(data, folder, { recursive: true });
  const later = await openTestNode({ dataFolder: folder });
  await uploadNewPack(later, sampleRecord({ title: 'Lost' }), { 'x.txt': 'lost' });
  await later.close();
  await rm(join(folder, 'strongroom.db'));
  await cp(keptDatabase, join(folder, 'strongroom.db'));
  expect(await runHere(['key', '--accept-rollback', '--data', folder])).toMatchObject({ code: 0 });
  await requireSame(folder);
});

test('a move', async () => {
  const [from, to] = [join(root, 'from'), join(root, 'to')];
  await cp(data, from, { recursive: true });
  expect(await runHere(['move', from, to])).toMatchObject({ code: 0 });
  await rename(from, join(root, 'gone'));
  expect((await readFile(join(to, 'withheld.key'), 'utf8')).length).toBeGreaterThan(0);
  await requireSame(to);
});
