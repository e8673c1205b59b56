import { rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { checkRecord } from '../../server/archive/packs/checkRecord.ts';
import { partRecord } from '../../server/archive/sets/setRecords.ts';
import type { Pack } from '../../shared/archive/pack.ts';
import type { SetManifest } from '../../shared/archive/set.ts';
import type { ReleasePreview, Withholding } from '../../shared/node/withheld.ts';
import { handIn } from '../collection/handedIn/support.ts';
import { release, show, withhold } from '../copies/withheldCopies.ts';
import { newDraft, publish, putFile } from '../support/archive/drafts.ts';
import { packForm, sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { contentOf, partsByHand, publishedSet, uploadManifest } from '../support/archive/sets.ts';
import { share } from '../support/network/sharing.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { savedPage } from '../support/savedPages.ts';
import { HANDED_IN_FROM, SHOWN } from './handIns.ts';

/* A set may have a file in parts, whose digests are others than that of the file. The bytes are the same. */

afterEach(closeTestNodes);

const LARGE = contentOf(3, 25_000);
const DIGEST = sha256Of(LARGE);

/** A node with a set that has a file in three parts, and perhaps a pack with the file. */
async function withFile({ whole = true } = {}): Promise<{ node: TestNode; set: string; parts: string[] }> {
  const node = await openTestNode({ packBytes: 10_000 });
  if (whole) await uploadNewPack(node, {}, { 'large.bin': LARGE });
  const { manifest } = await publishedSet(node, { 'b.csv': contentOf(2, 5_000), 'large.bin': LARGE });
  return { node, set: manifest.id, parts: await partsOf(node, manifest.id) };
}

async function partsOf(node: TestNode, set: string): Promise<string[]> {
  const { files } = (await (await node.fetchAsOwner(`/api/packs/${set}`)).json()) as {
    files: { sha256: string }[];
  };
  const list = (await (await node.fetchAsOwner(`/api/blobs/${files[0]?.sha256}`)).json()) as SetManifest;
  return list.files.flatMap(({ path, parts }) =>
    path === 'large.bin' ? parts.map((part) => part.sha256) : [],
  );
}

/** What a visitor gets for the file in the set, for the file by itself, and for its parts. */
async function gets(node: TestNode, set: string, parts: readonly string[]): Promise<number[]> {
  const addresses = [
    `/api/packs/${set}/set/files/large.bin`,
    `/api/blobs/${DIGEST}`,
    ...parts.map((part) => `/api/blobs/${part}`),
  ];
  return Promise.all(addresses.map(async (address) => (await node.fetch(address)).status));
}

async function exportedAndImported(node: TestNode): Promise<TestNode> {
  await node.close();
  const folder = await temporaryFolder();
  const [file, data] = [join(folder, 'archive.zip'), join(folder, 'data')];
  expect(await runHere(['export', '--data', node.dataFolder, '--out', file])).toMatchObject({ code: 0 });
  expect(await runHere(['import', file, '--data', data])).toMatchObject({ code: 0 });
  return openTestNode({ dataFolder: data });
}

test('a file is withheld with the parts in which a set has it, and its parts with it', async () => {
  const { node, set, parts } = await withFile();
  expect(await gets(node, set, parts)).toEqual([200, 200, 200, 200, 200]);
  for (const target of [{ sha256: DIGEST }, { sha256: parts[1] }, { pack: set }]) {
    await withhold(node, target);
    expect(await gets(node, set, parts), JSON.stringify(target)).toEqual([451, 451, 451, 451, 451]);
    await show(node, target);
    expect(await gets(node, set, parts)).toEqual([200, 200, 200, 200, 200]);
  }
});

test.each(['shown', 'exported, imported and shown'])(
  'a part that is withheld after its set, for the same reason, stays withheld when the set is %s',
  async (how) => {
    const { node: first, set, parts } = await withFile({ whole: false });
    await withhold(first, { pack: set });
    const { items } = await listedPacks(first);
    const part = items.find(({ files }) => files.some(({ sha256 }) => sha256 === parts[0]))?.id;
    const json = { pack: part, reason: 'personal_data', note: 'For itself.' };
    for (const status of [201, 200]) {
      const answer = await first.sendJson('POST', '/manage/withheld', json);
      expect([answer.status, await answer.json()]).toMatchObject([status, { note: 'For itself.' }]);
    }
    const node = how === 'shown' ? first : await exportedAndImported(first);
    await show(node, { pack: set });
    expect((await node.fetch(`/api/blobs/${parts[0]}`)).status).toBe(451);
    // The other pieces of its file stay withheld with it, those of other files do not.
    const others = items.flatMap(({ id, files }) => (id === part ? [] : files.map(({ sha256 }) => sha256)));
    expect(others).toHaveLength(4);
    for (const sha256 of others)
      expect((await node.fetch(`/api/blobs/${sha256}`)).status).toBe(parts.includes(sha256) ? 451 : 200);
    await show(node, { pack: part });
    expect(await gets(node, set, parts)).toEqual([200, 404, 200, 200, 200]);
  },
);

async function listedPacks(node: TestNode): Promise<{ items: Pack[] }> {
  return (await (await node.fetch('/api/packs?parts=true&limit=500')).json()) as { items: Pack[] };
}

test('a note that differs is recorded, also for the parts of a set; without a note nothing changes', async () => {
  const { node, set } = await withFile({ whole: false });
  const notes = async () => {
    const { items } = (await (await node.fetch('/api/withheld?limit=500')).json()) as {
      items: Withholding[];
    };
    return new Set(items.map(({ note }) => note));
  };
  const send = async (note?: string) =>
    (await node.sendJson('POST', '/manage/withheld', { pack: set, reason: 'owner', ...(note && { note }) }))
      .status;
  expect([await send('One.'), await send('One.'), await send()]).toEqual([201, 200, 200]);
  expect(await notes()).toEqual(new Set(['One.']));
  expect(await send('Two.')).toBe(201);
  expect(await notes()).toEqual(new Set(['Two.']));
  await show(node, { pack: set });
  expect(await notes()).toEqual(new Set());
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
});

test('a cache asks before it shows a file of a set again', async () => {
  const { node, set } = await withFile();
  const address = `/api/packs/${set}/set/files/large.bin`;
  const { headers } = await node.fetch(address);
  expect(headers.get('Cache-Control')).toBe('no-cache');
  const conditions = { 'If-None-Match': headers.get('ETag') ?? '' };
  expect((await node.fetch(address, { headers: conditions })).status).toBe(304);
  await withhold(node, { sha256: DIGEST });
  expect((await node.fetch(address, { headers: conditions })).status).toBe(451);
});

test('a file that is only there in parts is withheld by its digest, also if it comes whole later', async () => {
  const { node, set, parts } = await withFile({ whole: false });
  await withhold(node, { sha256: DIGEST });
  expect(await gets(node, set, parts)).toEqual([451, 404, 451, 451, 451]);
  await uploadNewPack(node, {}, { 'large.bin': LARGE });
  expect(await gets(node, set, parts)).toEqual([451, 451, 451, 451, 451]);
  await show(node, { sha256: DIGEST });
  expect(await gets(node, set, parts)).toEqual([200, 200, 200, 200, 200]);
});

/** A node that could only publish two pieces of a file that is withheld, and the draft. */
async function publishedHalf() {
  const { node: first } = await withFile({ whole: false });
  await withhold(first, { sha256: DIGEST });
  await first.close();
  // Its pieces are others then.
  const node = await openTestNode({ dataFolder: first.dataFolder, packBytes: 8_000 });
  const { id } = await newDraft(node, sampleRecord({ title: 'Another' }));
  await putFile(node, id, 'large.bin', LARGE);
  // The third piece cannot be read, so publishing stops there.
  const kept = join(node.dataFolder, 'drafts', id, DIGEST);
  await truncate(kept, 17_000);
  const published = [LARGE.subarray(0, 8_000), LARGE.subarray(8_000, 16_000)].map(sha256Of);
  expect((await publish(node, id)).status).toBe(422);
  return { node, id, kept, published };
}

async function statusesOf(node: TestNode, digests: readonly string[]): Promise<number[]> {
  return Promise.all(digests.map(async (sha256) => (await node.fetch(`/api/blobs/${sha256}`)).status));
}

test('a file that is withheld is not shown in a set that comes later, nor while that is published', async () => {
  const { node, id, kept, published } = await publishedHalf();
  expect(await statusesOf(node, published)).toEqual([451, 451]);
  await writeFile(kept, LARGE);
  const { id: set } = (await (await publish(node, id)).json()) as Pack;
  const parts = await partsOf(node, set);
  expect(parts.slice(0, 2)).toEqual(published);
  expect(await gets(node, set, parts)).toEqual([451, 404, 451, 451, 451, 451]);
});

test('the pieces of a set that was never published whole stay withheld in an imported archive', async () => {
  const { node, published } = await publishedHalf();
  expect(await statusesOf(await exportedAndImported(node), published)).toEqual([451, 451]);
});

test('the parts of a withheld file stay withheld in an archive to which they come before the list of their set', async () => {
  const { node, parts } = await withFile();
  await withhold(node, { sha256: DIGEST });
  const dump = join(await temporaryFolder(), 'dump.jsonl');
  await writeFile(dump, await (await node.fetch('/api/dump.jsonl')).text());
  const data = join(await temporaryFolder(), 'data');
  expect(await runHere(['import', dump, '--data', data])).toMatchObject({ code: 0 });
  const again = await openTestNode({ dataFolder: data });
  // A dump has no bytes. They come one by one.
  for (const part of parts) {
    const bytes = await (await node.fetchAsOwner(`/api/blobs/${part}`)).arrayBuffer();
    await uploadNewPack(again, { title: part }, { 'piece.bin': new Uint8Array(bytes) });
  }
  expect(await statusesOf(again, parts)).toEqual([451, 451, 451]);
});

/** A second set with the same file in other pieces. */
async function inOtherPieces(first: TestNode): Promise<{ node: TestNode; set: string; parts: string[] }> {
  await first.close();
  const node = await openTestNode({ dataFolder: first.dataFolder, packBytes: 8_000 });
  const { id } = await newDraft(node, sampleRecord({ title: 'Another' }));
  await putFile(node, id, 'large.bin', LARGE);
  const { id: set } = (await (await publish(node, id)).json()) as Pack;
  return { node, set, parts: await partsOf(node, set) };
}

test.each(['before', 'after'])(
  'a file that is withheld with a set is not shown by one that has it in other pieces and comes %s',
  async (when) => {
    const first = await withFile({ whole: false });
    if (when === 'after') await withhold(first.node, { pack: first.set });
    const { node, set, parts } = await inOtherPieces(first.node);
    if (when === 'before') await withhold(node, { pack: first.set });
    expect(await statusesOf(node, [...first.parts, ...parts])).toEqual([451, 451, 451, 451, 451, 451, 451]);
    expect(await gets(node, set, [])).toEqual([451, 404]);
    await uploadNewPack(node, {}, { 'large.bin': LARGE });
    expect(await gets(node, set, [])).toEqual([451, 451]);
    const again = await exportedAndImported(node);
    expect(await gets(again, set, [...first.parts, ...parts])).toEqual(Array(9).fill(451));
    await show(again, { pack: first.set });
    expect(await gets(again, set, [...first.parts, ...parts])).toEqual(Array(9).fill(200));
  },
);

test.each(['set', 'part'])(
  'what was handed in with a file is not shown, before and after the %s is withheld that has its pieces',
  async (kind) => {
    const { node, set, parts } = await withFile({ whole: false });
    const saved = (boundary: string) =>
      savedPage(
        HANDED_IN_FROM,
        [
          { type: 'text/html', location: HANDED_IN_FROM, content: '<p>Page</p>' },
          { type: 'image/png', location: 'http://elsewhere.example/x.png', content: Buffer.from(LARGE) },
        ],
        boundary,
      );
    const files = [saved('--one'), saved('--two')] as const;
    await handIn(node, files[0], 'multipart/related', SHOWN);
    await withhold(node, kind === 'set' ? { pack: set } : { sha256: parts[1] });
    await handIn(node, files[1], 'multipart/related', SHOWN);
    expect(await statusesOf(node, files.map(sha256Of))).toEqual([451, 451]);
  },
);

test('a file whose list of parts was released is withheld with them', async () => {
  const { node, set, parts } = await withFile();
  const { files } = (await (await node.fetch(`/api/packs/${set}`)).json()) as Pack;
  await release(node, files[0]?.sha256 ?? '');
  await withhold(node, { sha256: DIGEST });
  expect(await statusesOf(node, [DIGEST, ...parts])).toEqual([451, 451, 451, 451]);
});

test('an archive that was exported and imported withholds the same', async () => {
  const { node, set, parts } = await withFile();
  await withhold(node, { sha256: parts[0] });
  const again = await exportedAndImported(node);
  expect(await gets(again, set, parts)).toEqual([451, 451, 451, 451, 451]);
});

test('an archive that was rebuilt from a dump withholds the same from its first answer', async () => {
  const { node, set, parts } = await withFile();
  // Reading their lists takes longer than a request.
  for (let index = 10; index < 30; index += 1)
    await publishedSet(node, { 'b.csv': contentOf(index, 9_000), 'large.bin': contentOf(index, 25_000) });
  await withhold(node, { sha256: DIGEST });
  const dump = join(await temporaryFolder(), 'dump.jsonl');
  await writeFile(dump, await (await node.fetch('/api/dump.jsonl')).text());
  await node.close();
  await rm(join(node.dataFolder, 'strongroom.db'));
  expect(await runHere(['rebuild', node.dataFolder, '--dump', dump])).toMatchObject({ code: 0 });
  const again = await openTestNode({ dataFolder: node.dataFolder });
  // The set itself is not asked for: that would read its list.
  const answers = parts.map(async (part) => (await again.fetch(`/api/blobs/${part}`)).status);
  expect(await Promise.all(answers)).toEqual([451, 451, 451]);
  expect(await gets(again, set, parts)).toEqual([451, 451, 451, 451, 451]);
});

test.each(['file', 'part', 'set'])(
  'what is withheld together with a %s stays so in an imported archive that has no list of the set',
  async (kind) => {
    const { node, set, parts } = await withFile();
    await withhold(node, kind === 'set' ? { pack: set } : { sha256: kind === 'file' ? DIGEST : parts[0] });
    const { files } = (await (await node.fetch(`/api/packs/${set}`)).json()) as Pack;
    await release(node, files[0]?.sha256 ?? '');
    const again = await exportedAndImported(node);
    expect(await gets(again, set, parts)).toEqual([410, 451, 451, 451, 451]);
  },
);

test('a file is released with the parts in which a set has it, which the preview names', async () => {
  const { node, set, parts } = await withFile();
  const preview = await node.fetchAsOwner(`/manage/released/preview?sha256=${DIGEST}`);
  expect(((await preview.json()) as ReleasePreview).packs.total).toBe(1 + parts.length);
  await release(node, DIGEST);
  expect(await gets(node, set, parts)).toEqual([410, 410, 410, 410, 410]);
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
});

test.each(['its digest', 'its digest, after its parts were released,', 'its set'])(
  'a file that is withheld by %s stays so when it comes whole after its parts were released',
  async (how) => {
    const { node: first, set, parts } = await withFile({ whole: false });
    const target = how === 'its set' ? { pack: set } : { sha256: DIGEST };
    const releaseAll = async () => {
      for (const part of parts) await release(first, part);
    };
    if (how.includes('after')) await releaseAll();
    await withhold(first, target);
    if (!how.includes('after')) await releaseAll();
    const { items } = (await (await first.fetch('/api/withheld?limit=500')).json()) as {
      items: Withholding[];
    };
    // What was given up is none of the objects that are withheld.
    expect(
      items.find(({ sha256, pack }) => (sha256 ?? pack) === (target.sha256 ?? target.pack)),
    ).toMatchObject({ objects: how === 'its set' ? 1 : 0 });
    expect(await statusesOf(first, parts)).toEqual([410, 410, 410]);
    const again = await exportedAndImported(first);
    await uploadNewPack(again, {}, { 'large.bin': LARGE });
    expect(await statusesOf(again, [DIGEST])).toEqual([451]);
    await show(again, target);
    expect(await statusesOf(again, [DIGEST, ...parts])).toEqual([200, 410, 410, 410]);
  },
);

describe('a list that names parts which cannot be read, so that nobody can check it,', () => {
  const JUNK = 'junk';

  /** A node with a set of which a piece was released, and its list. */
  async function withReleasedPiece() {
    const { node, set } = await withFile({ whole: false });
    const { files } = (await (await node.fetch(`/api/packs/${set}`)).json()) as Pack;
    const list = (await (await node.fetch(`/api/blobs/${files[0]?.sha256}`)).json()) as SetManifest;
    const [piece] = list.files.find(({ path }) => path === 'large.bin')?.parts ?? [];
    if (!piece) throw new Error('The set has no large file.');
    await release(node, piece.sha256);
    return { node, list, piece };
  }

  /** Sends a list as a visitor, whose parts say that they are such. */
  async function sendList(node: TestNode, files: SetManifest['files'], title: string): Promise<Response> {
    const manifest = JSON.stringify({ format: 'strongroom-set@1', files });
    return node.fetch('/api/packs', {
      method: 'POST',
      body: packForm(sampleRecord({ title }), { 'set.json': manifest }),
    });
  }

  async function sendJunk(node: TestNode): Promise<SetManifest['files'][number]['parts'][number]> {
    const { record } = checkRecord({ ...sampleRecord({ title: 'False' }), files: [] });
    const { files: _, ...part } = partRecord(record, []);
    const answer = await node.fetch('/api/packs', { method: 'POST', body: packForm(part, { junk: JUNK }) });
    expect(answer.status).toBe(201);
    const { id: pack } = (await answer.json()) as Pack;
    return { pack, path: 'junk', bytes: JUNK.length, sha256: sha256Of(JUNK) };
  }

  test.each([
    ['with the size that it has', 10_000 + JUNK.length, 'invalid_set'],
    ['with another size', 5_000, 'digest_mismatch'],
  ])('is refused from a visitor if it ties a file of the owner to his own, %s', async (_, bytes, code) => {
    const { node, piece } = await withReleasedPiece();
    const open = contentOf(11, bytes);
    await uploadNewPack(node, { title: 'Open' }, { 'open.bin': open });
    await share(node, 'contribute');
    const junk = await sendJunk(node);
    const parts = [piece, junk];
    const file = { path: 'x.bin', bytes: piece.bytes + junk.bytes, sha256: sha256Of(open), parts };
    const answer = await sendList(node, [file], 'False');
    expect([answer.status, await answer.json()]).toMatchObject([422, { code }]);
    await withhold(node, { sha256: junk.sha256 });
    expect(await statusesOf(node, [junk.sha256, sha256Of(open)])).toEqual([451, 200]);
  });

  test('is taken if it says nothing new', async () => {
    const { node, list } = await withReleasedPiece();
    await share(node, 'contribute');
    expect((await sendList(node, list.files, 'The same again')).status).toBe(201);
  });
});

test('a set with a file that was released is refused', async () => {
  const node = await openTestNode();
  const { manifest, content } = await partsByHand(node);
  await uploadNewPack(node, {}, { 'joined.bin': new Uint8Array(content) });
  await release(node, sha256Of(content));
  const answer = await uploadManifest(node, manifest);
  expect({ status: answer.status, body: await answer.json() }).toMatchObject({
    status: 410,
    body: { code: 'released' },
  });
});
