import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { verifyFiles } from '../../server/copies/pages/browser/verifyFiles.ts';
import type { Copy, CopyCheck } from '../../shared/node/copy.ts';
import { filledArchive } from '../dump/filledArchive.ts';
import { sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { closeScriptedWebs } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { verified as verifiedAt } from './withheldCopies.ts';

let place: string;
let node: TestNode;
let copy: Copy;
/** Every file of the copy, by its path. */
let files: Map<string, Buffer>;

/** A copy with every kind of record, pages and the key. */
beforeAll(async () => {
  place = join(await temporaryFolder(), 'copy');
  ({ node } = await filledArchive(join(await temporaryFolder(), 'data')));
  const target = pathToFileURL(place).href;
  const fields = { target, pages: true, public_url: 'https://archive.example/' };
  copy = (await (await node.sendJson('POST', '/manage/copies', fields)).json()) as Copy;
  await sync();
  const key = { passphrase: 'correct horse battery staple' };
  expect((await node.sendJson('PUT', `/manage/copies/${copy.id}/key`, key)).status).toBe(200);
  files = await allFiles();
});
afterEach(restore);
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

async function sync(): Promise<void> {
  const answer = await node.fetchAsOwner(`/manage/copies/${copy.id}/sync?wait=true`, { method: 'POST' });
  expect(answer.status, await answer.clone().text()).toBe(200);
}

async function check(): Promise<CopyCheck> {
  const answer = await node.sendJson('POST', `/manage/copies/${copy.id}/check?wait=true`, {});
  expect(answer.status, await answer.clone().text()).toBe(200);
  return (await answer.json()) as CopyCheck;
}

async function allFiles(): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  for (const entry of await readdir(place, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    found.set(file.slice(place.length + 1).replaceAll('\\', '/'), await readFile(file));
  }
  return found;
}

async function restore(): Promise<void> {
  for (const path of (await allFiles()).keys()) if (!files.has(path)) await rm(join(place, path));
  for (const [path, bytes] of files) {
    await mkdir(dirname(join(place, path)), { recursive: true });
    await writeFile(join(place, path), bytes);
  }
}

const verified = () => verifiedAt(place);

/** The files that are verified by the list; the list itself, its parts and the checkpoint are tried one by one. */
const others = () => [...files.keys()].filter((path) => path !== 'checkpoint' && !path.startsWith('files/'));
const listFiles = () => [...files.keys()].filter((path) => path.startsWith('files/'));
/** Objects are named by their digest. */
const nameOf = (path: string) => path.replace(/^archive\/([0-9a-f]{64})$/, '$1');

/** The withheld objects that the copy says it does not have. Once nothing signed says so, they are missing. */
const leftOut = () => (files.get('withheld.txt')?.toString() ?? '').split('\n').filter(Boolean);

/** Changes one byte in the middle of a file. */
async function change(path: string): Promise<void> {
  const bytes = Buffer.from(files.get(path) ?? '');
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(join(place, path), bytes);
}
const remove = (path: string) => rm(join(place, path));
const byPath = (left: { path: string }, right: { path: string }) => (left.path < right.path ? -1 : 1);

const kinds = [
  'checkpoint',
  'files/list',
  'withheld.txt',
  'strongroom.json',
  'key.age',
  'index.html',
  'verify.html',
].concat(
  ['sitemap.xml', 'events.atom', 'search/index.json', 'assets/pages.css', 'assets/verify.js'],
  ['timeline.html', 'packs.html'],
);

test('the copy has every kind of file', () => {
  expect(kinds.filter((path) => !files.has(path))).toEqual([]);
  for (const pattern of [/^archive\/\w+\.json$/, /^archive\/\w+$/, /^records\//, /^state\//, /^tile\/0\//])
    expect(
      [...files.keys()].some((path) => pattern.test(path)),
      String(pattern),
    ).toBe(true);
  expect(files.size).toBeGreaterThan(60);
});

describe('verify names', () => {
  test('nothing in a copy that is as it was written', async () => {
    expect(await verified()).toMatchObject({ ok: true, damaged: [], missing: [], extra: [] });
  });

  test('every file of which one byte was changed', async () => {
    for (const path of others()) await change(path);
    const { ok, damaged, missing } = await verified();
    expect({ ok, damaged, missing }).toEqual({
      ok: false,
      damaged: others().map(nameOf).sort(),
      missing: [],
    });
    await restore();
    for (const path of listFiles()) {
      await change(path);
      expect(await verified(), path).toMatchObject({ ok: false, damaged: [path] });
      await restore();
    }
    await change('checkpoint');
    await expect(verified().then(({ damaged }) => damaged)).resolves.toEqual(['checkpoint']);
    await restore();
  });

  test('every file that was taken away', async () => {
    for (const path of others()) if (!/^(state|records)\//.test(path)) await remove(path);
    const { missing } = await verified();
    const expected = others().filter((path) => !/^(state|records)\//.test(path));
    expect(missing).toEqual([...expected.map(nameOf), ...leftOut()].sort());
    await restore();
    for (const path of [...listFiles(), ...others().filter((path) => /^(state|records)\//.test(path))]) {
      await remove(path);
      expect(await verified(), path).toMatchObject({ ok: false, missing: [path] });
      await restore();
    }
    await remove('checkpoint');
    await expect(verified()).rejects.toThrow('no copy');
    await restore();
  });

  test('files that no node wrote, but not those of a file manager', async () => {
    await writeFile(join(place, 'packs/evil.html'), '<p>The archive says so.</p>');
    await writeFile(join(place, 'archive', `${'0'.repeat(64)}`), 'other bytes');
    await writeFile(join(place, '.DS_Store'), Buffer.from('\0\0\0\x01Bud1', 'latin1'));
    expect(await verified()).toMatchObject({
      ok: false,
      damaged: [],
      missing: [],
      extra: [`archive/${'0'.repeat(64)}`, 'packs/evil.html'],
    });
    await restore();
  });
});

test('verify refuses an older list, even if everything that it names is put back with it', async () => {
  const older = await allFiles();
  await uploadNewPack(node, sampleRecord({ title: 'Later' }), { 'later.txt': 'later' });
  await sync();
  files = await allFiles();
  for (const [path, bytes] of older)
    if (path.startsWith('files/') || path.endsWith('.html')) await writeFile(join(place, path), bytes);
  expect(await verified()).toMatchObject({ ok: false, damaged: ['files/list'] });
  await restore();
});

describe('a check names, and sends again,', () => {
  test.each([
    ['every file of which one byte was changed', change, 'damaged'],
    ['every file that was taken away', remove, 'missing'],
  ] as const)('%s', async (_, spoil, is) => {
    // The node cannot make the key again, and a place without a claim or a checkpoint is no copy.
    const all = others().filter((path) => path !== 'key.age' && path !== 'strongroom.json');
    for (let some = all.splice(0, 20); some.length > 0; some = all.splice(0, 20)) {
      for (const path of some) await spoil(path);
      const found = await check();
      files = await allFiles();
      const wrong = some.sort().map((path) => ({ path, is }));
      expect({ ...found, wrong: found.wrong.sort(byPath) }).toMatchObject({ ok: false, wrong });
    }
    for (const path of listFiles()) {
      await spoil(path);
      expect(await check()).toMatchObject({ ok: false, wrong: [{ path, is }] });
      files = await allFiles();
    }
    expect(await check()).toMatchObject({ ok: true, wrong: [] });
    expect(await verified()).toMatchObject({ ok: true });
  });

  test('a key that is not what was put there is no longer said to be kept', async () => {
    await change('key.age');
    expect(await check()).toMatchObject({ ok: false, wrong: [{ path: 'key.age', is: 'damaged' }] });
    const { items } = (await (await node.fetchAsOwner('/manage/copies')).json()) as { items: Copy[] };
    expect(items[0]?.has_key).toBe(false);
    expect(await check()).toMatchObject({ ok: true });
    expect(await verified()).toMatchObject({ ok: true });
    files = await allFiles();
  });

  test('files that no node wrote, which stay', async () => {
    await writeFile(join(place, 'notes.html'), 'x');
    expect(await check()).toMatchObject({
      ok: false,
      extra: 1,
      wrong: [{ path: 'notes.html', is: 'extra' }],
    });
    expect(await readFile(join(place, 'notes.html'), 'utf8')).toBe('x');
    await rm(join(place, 'notes.html'));
  });
});

test('a copy that an earlier release made without a list lacks it, and gets one with the next sync', async () => {
  const data = node.dataFolder;
  await node.close();
  const database = new Database(join(data, 'strongroom.db'));
  database.exec('DELETE FROM copied_files; UPDATE copies SET is_listed = 0, pages_version = 2');
  database.close();
  await rm(join(place, 'files'), { recursive: true });
  await writeFile(join(place, 'packs/of-an-earlier-release.html'), 'x');
  await writeFile(join(place, 'index.html'), 'altered');
  expect(await verified()).toMatchObject({ ok: false, damaged: [], missing: ['files/list'] });
  node = await openTestNode({ dataFolder: data });
  await sync();
  expect(await verified()).toMatchObject({ ok: true, extra: [] });
  expect(await check()).toMatchObject({ ok: true, extra: 0 });
  const now = await allFiles();
  expect(now.has('packs/of-an-earlier-release.html')).toBe(false);
  expect(now.get('index.html')?.equals(files.get('index.html') ?? Buffer.alloc(0))).toBe(true);
  files = now;
});

/** Runs the script of `verify.html` on the files of the copy. */
async function verifiedByThePage(): Promise<{ path: string; fault: string }[]> {
  const wrong: { path: string; fault: string }[] = [];
  const read = async (path: string) => {
    const bytes = await readFile(join(place, path)).catch(() => undefined);
    return bytes && new Response(bytes);
  };
  const key = (await (await node.fetch('/api/ledger/key')).text()).trim();
  const onFault = (path: string, fault: string) => void wrong.push({ path, fault });
  await verifyFiles({ read, key, onFault, onFile: () => {} }).catch((error: unknown) =>
    expect(wrong, String(error)).not.toEqual([]),
  );
  return wrong.sort(byPath);
}

describe('the verifying page names', () => {
  test('nothing in a copy that is as it was written', async () => {
    expect(await verifiedByThePage()).toEqual([]);
  });

  test.each([
    ['every file of which one byte was changed', change, 'changed'],
    ['every file that was taken away', remove, 'missing'],
  ] as const)('%s', async (_, spoil, fault) => {
    // Without the records it is not known which objects there must be.
    const records = others().filter((path) => path.startsWith('records/'));
    const all = others().filter((path) => !records.includes(path));
    for (const path of all) await spoil(path);
    const missing = leftOut().map((sha256) => ({ path: `archive/${sha256}`, fault: 'missing' }));
    const expected = [...all.map((path) => ({ path, fault })), ...missing];
    expect(await verifiedByThePage()).toEqual(expected.sort(byPath));
    await restore();
    for (const path of [...records, ...listFiles(), 'checkpoint']) {
      await spoil(path);
      expect(await verifiedByThePage(), path).toContainEqual({ path, fault });
      await restore();
    }
  });
});
