import { existsSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { connectToNode } from '../../server/cli/node/withNode.ts';
import { type FolderToPublish, publishFolder } from '../../server/cli/publishing/publishFolder.ts';
import { SentFiles } from '../../server/cli/publishing/sentFiles.ts';
import type { Pack } from '../../shared/archive/pack.ts';
import type { DataSet } from '../../shared/archive/set.ts';
import { PART_BYTES as DEFAULT_PART_BYTES } from '../../shared/archive/setManifest.ts';
import { MAX_PACK_BYTES } from '../../shared/limits.ts';
import { release, withhold } from '../copies/withheldCopies.ts';
import { packForm, sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { contentOf, setFiles } from '../support/archive/sets.ts';
import { share } from '../support/network/sharing.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

afterEach(closeTestNodes);

const PART_BYTES = 10_000;

async function writeFolder(files: Record<string, Uint8Array>): Promise<string> {
  const folder = await temporaryFolder();
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
}

async function publish(node: TestNode, folder: string, changes: Partial<FolderToPublish> = {}) {
  const connected = await connectToNode({ data: node.dataFolder });
  return publishFolder(connected, {
    folder,
    except: new Set(),
    record: sampleRecord(),
    notes: join(node.dataFolder, 'publishing'),
    partBytes: PART_BYTES,
    found: () => undefined,
    read: () => undefined,
    isSet: () => undefined,
    changed: () => undefined,
    ...changes,
  });
}

async function packs(node: TestNode): Promise<Pack[]> {
  const response = await node.fetch('/api/packs?parts=true&sort=received');
  return ((await response.json()) as { items: Pack[] }).items;
}

async function requireServed(node: TestNode, pack: string, files: Record<string, Uint8Array>): Promise<void> {
  const set = (await (await node.fetch(`/api/packs/${pack}/set`)).json()) as DataSet;
  expect(set.files.map(({ path }) => path)).toEqual(Object.keys(files).sort());
  for (const [path, content] of Object.entries(files)) {
    const response = await node.fetch(`/api/packs/${pack}/set/files/${encodeURI(path)}`);
    expect(sha256Of(await response.bytes())).toBe(sha256Of(content));
  }
}

test('a folder is published as a set, and as the same one when it is published again', async () => {
  const node = await openTestNode();
  const files = setFiles();
  const folder = await writeFolder(files);
  const first = await publish(node, folder);
  expect(first).toMatchObject({ files: 4, bytes: 34_000, parts: 4, sent: 4 });
  await requireServed(node, first.pack, files);
  expect(await readdir(join(node.dataFolder, 'publishing'))).toEqual([]);
  // There are no notes any more, so the node is asked.
  expect(await publish(node, folder)).toEqual({ ...first, sent: 0 });
  expect(await packs(node)).toHaveLength(5);
});

test('a folder that a part would not hold, but a pack does, is published as a pack', async () => {
  const node = await openTestNode();
  const folder = await writeFolder({ 'large.bin': Buffer.alloc(MAX_PACK_BYTES - 1_000_000) });
  expect(await publish(node, folder, { partBytes: DEFAULT_PART_BYTES })).toMatchObject({ parts: 0 });
});

test('a folder within the limit of a pack is published as a pack', async () => {
  const node = await openTestNode();
  const folder = await writeFolder({ 'a.csv': contentOf(1, 100), 'b.csv': contentOf(2, 200) });
  const { pack, parts } = await publish(node, folder);
  expect([parts, (await packs(node)).map(({ id, files }) => [id, files.length])]).toEqual([0, [[pack, 2]]]);
});

/** Publishes until more than this many bytes were read. */
async function interrupted(node: TestNode, folder: string, mostBytes: number): Promise<void> {
  let read = 0;
  const published = publish(node, folder, {
    read: (bytes) => {
      read += bytes;
      if (read > mostBytes) throw new Error('killed');
    },
  });
  await expect(published).rejects.toThrow('killed');
}

test('a publishing that was interrupted goes on, and sends no finished part again', async () => {
  const node = await openTestNode();
  const files = setFiles();
  const folder = await writeFolder(files);
  await interrupted(node, folder, 20_000);
  const before = await packs(node);
  expect(before.length).toBeGreaterThan(0);
  expect(before.length).toBeLessThan(4);
  // As if the command had been killed between an answer of the node and its note, and within a line.
  const [notes = ''] = await readdir(join(node.dataFolder, 'publishing'));
  const lines = (await readFile(join(node.dataFolder, 'publishing', notes), 'utf8')).split('\n');
  await writeFile(
    join(node.dataFolder, 'publishing', notes),
    lines
      .slice(0, -2)
      .map((line) => `${line}\n`)
      .join(''),
  );
  await appendFile(join(node.dataFolder, 'publishing', notes), '[{"path":"b.c');
  const { pack, sent } = await publish(node, folder);
  expect(sent).toBe(4 - before.length);
  const after = await packs(node);
  expect(after.map(({ id }) => id)).toEqual([
    ...before.map(({ id }) => id),
    ...after.slice(before.length).map(({ id }) => id),
  ]);
  expect(after).toHaveLength(5);
  await requireServed(node, pack, files);
});

/** Pieces are sent first, and the last one is on its way then. */
const TWO_PIECES = 22_000;

describe('a file that the node has given up or withholds', () => {
  const LARGE = contentOf(3, 25_000);
  const PIECES = [0, 10_000, 20_000].map((start) => LARGE.subarray(start, start + 10_000));
  const folderWithIt = () => writeFolder({ 'b.csv': contentOf(2, 5_000), 'large.bin': LARGE });

  const statuses = (node: TestNode) =>
    Promise.all(PIECES.map(async (piece) => (await node.fetch(`/api/blobs/${sha256Of(piece)}`)).status));

  test.each(['before', 'after'])(
    'is not shown in pieces, also if the publishing ends before the list, and it is withheld %s that',
    async (when) => {
      const node = await openTestNode();
      const folder = await folderWithIt();
      if (when === 'before') {
        await uploadNewPack(node, {}, { 'large.bin': LARGE });
        await withhold(node, { sha256: sha256Of(LARGE) });
      }
      await interrupted(node, folder, TWO_PIECES);
      if (when === 'after') await withhold(node, { sha256: sha256Of(LARGE) });
      expect((await statuses(node)).filter((status) => status === 451).length).toBeGreaterThan(0);
      expect(await statuses(node)).not.toContain(200);
      await publish(node, folder);
      expect(await statuses(node)).toEqual([451, 451, 451]);
      expect((await node.fetch(`/api/blobs/${sha256Of(contentOf(2, 5_000))}`)).status).toBe(200);
    },
  );

  test('is not shown in a piece that somebody else has sent', async () => {
    const node = await openTestNode();
    const folder = await folderWithIt();
    await interrupted(node, folder, TWO_PIECES);
    const parts = (await packs(node)).map(({ id, files }) => ({ id, files }));
    const other = await openTestNode();
    await uploadNewPack(other, {}, { 'large.bin': LARGE });
    await withhold(other, { sha256: sha256Of(LARGE) });
    for (const { id } of parts) {
      const file = await (await node.fetch(`/api/packs/${id}/file`)).blob();
      const sent = { method: 'POST', headers: { 'Content-Type': 'application/zip' }, body: file };
      expect((await other.fetchAsOwner('/api/packs', sent)).status).toBe(201);
    }
    expect(await statuses(other)).toContain(200);
    await interrupted(other, folder, TWO_PIECES);
    expect(await statuses(other)).not.toContain(200);
  });

  test('is not taken in pieces after its release, and the help says that parts are public', async () => {
    const node = await openTestNode();
    await uploadNewPack(node, {}, { 'large.bin': LARGE });
    await release(node, sha256Of(LARGE));
    const folder = await folderWithIt();
    await writeFile(join(folder, 'pack.json'), JSON.stringify(sampleRecord()));
    const args = ['publish', folder, '--part-bytes', String(PART_BYTES), '--data', node.dataFolder];
    const { code, stderr } = await runHere(args);
    expect(code).toBe(2);
    expect((await runHere(['publish', '--help'])).stdout).toContain(
      'Each part is public as soon as the node',
    );
    expect(stderr).toContain(`This archive gave up the bytes of ${sha256Of(LARGE)} for good`);
    expect(await statuses(node)).toEqual([404, 404, 404]);
    for (const piece of PIECES) {
      const sha256 = sha256Of(piece);
      const file = join(node.dataFolder, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
      expect(existsSync(file)).toBe(false);
    }
  });

  test('is tied to a piece by the owner only', async () => {
    const node = await openTestNode();
    await uploadNewPack(node, {}, { 'open.txt': 'Open.' });
    await share(node, 'contribute');
    const address = `/api/packs?piece_of=${sha256Of(LARGE)}`;
    const send = (files: Record<string, string>) => ({
      method: 'POST',
      body: packForm(sampleRecord({ title: 'Tied' }), files),
    });
    const refused = await node.fetch(address, send({ piece: 'Open.' }));
    expect([refused.status, await refused.json()]).toMatchObject([401, { code: 'owner_required' }]);
    const two = await node.fetchAsOwner(address, send({ piece: 'Open.', other: 'Other.' }));
    expect([two.status, await two.json()]).toMatchObject([422, { code: 'invalid_field' }]);
  });
});

test('notes that are written anew have a part as a whole, so that it is not planned as another one', async () => {
  const notes = join(await temporaryFolder(), 'publishing', 'notes.jsonl');
  const note = (path: string, pack: string) => {
    return { path, size: 1, modified: '1', start: 0, bytes: 1, pack, name: path, sha256: '0'.repeat(64) };
  };
  const first = [note('a', 'pk_1'), note('b', 'pk_1')];
  const before = await SentFiles.open(notes, () => undefined);
  await before.add(first);
  await before.close();
  await appendFile(notes, '[{"path":"c');
  const again = await SentFiles.open(notes, () => undefined);
  await again.add([note('c', 'pk_2')]);
  await again.close();
  const lines = (await readFile(notes, 'utf8')).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([first, [note('c', 'pk_2')]]);
  expect(await readdir(dirname(notes))).toEqual(['notes.jsonl']);
});

test('a file that changed since it was sent is noticed and sent again', async () => {
  const node = await openTestNode();
  const files: Record<string, Buffer> = setFiles();
  const folder = await writeFolder(files);
  let read = 0;
  const stop = (bytes: number) => {
    read += bytes;
    if (read > 30_000) throw new Error('killed');
  };
  await expect(publish(node, folder, { read: stop })).rejects.toThrow('killed');
  const changed: string[] = [];
  files['large.bin'] = contentOf(4, 21_000);
  await writeFile(join(folder, 'large.bin'), files['large.bin']);
  await rm(join(folder, 'a/empty.txt'));
  delete files['a/empty.txt'];
  const { pack } = await publish(node, folder, { changed: (paths) => changed.push(...paths) });
  expect(changed).toEqual(['large.bin']);
  await requireServed(node, pack, files);
});

test('a file that changes while it is sent ends the command, and nothing is listed', async () => {
  const node = await openTestNode();
  const folder = await writeFolder(setFiles());
  const grow = () => void appendFile(join(folder, 'large.bin'), 'more');
  await expect(publish(node, folder, { read: grow })).rejects.toThrow(/large\.bin changed/);
  expect(((await (await node.fetch('/api/packs')).json()) as { total: number }).total).toBe(0);
});

test('a record that names an unknown study is refused before anything is sent', async () => {
  const node = await openTestNode();
  const folder = await writeFolder(setFiles());
  const record = sampleRecord({ study: `st_${'0'.repeat(20)}` });
  await expect(publish(node, folder, { record })).rejects.toThrow(/no study/);
  expect(await packs(node)).toEqual([]);
});
