import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';

/** No other user of the machine may read an archive, whatever mask the process was started with. */

let folder: string;
let mask: number;

beforeEach(async () => {
  mask = process.umask();
  folder = await temporaryFolder();
});
afterEach(async () => {
  process.umask(mask);
  await closeTestNodes();
});

/** Returns the entries below a folder whose modes give something to other users, or something else than is asked for. */
async function otherThan(root: string, { file, folder: ofFolder }: { file: number; folder: number }) {
  const found: string[] = [];
  const look = async (path: string) => {
    const { mode } = await stat(path);
    const entry = await stat(path);
    const wanted = entry.isDirectory() ? ofFolder : file;
    if ((mode & 0o777) !== wanted) found.push(`${relative(root, path)} ${(mode & 0o777).toString(8)}`);
  };
  await look(root);
  for (const { parentPath, name } of await readdir(root, { recursive: true, withFileTypes: true }))
    await look(join(parentPath, name));
  return found;
}

const PRIVATE = { file: 0o600, folder: 0o700 };
const PUBLIC = { file: 0o644, folder: 0o755 };

async function filled(dataFolder: string): Promise<TestNode> {
  const node = await openTestNode({ dataFolder });
  const form = new FormData();
  const record = {
    pack_format: 1,
    terms_version: '2026-10-01',
    title: 'Levels',
    authors: [{ name: 'Ada' }],
    license: 'CC0-1.0',
    outcome: 'positive',
  };
  form.append('record', JSON.stringify(record));
  form.append('files', new Blob(['x'.repeat(200_000)]), 'large.txt');
  form.append('files', new Blob(['small']), 'small.txt');
  expect((await node.fetchAsOwner('/api/packs', { method: 'POST', body: form })).status).toBe(201);
  await node.sendJson('POST', '/manage/sources', {
    url: 'http://127.0.0.1:9/',
    headers: { 'X-Token': 'secret' },
  });
  return node;
}

describe.each([0o000, 0o022])('under the mask %o', (given) => {
  test('a new data folder is private', async () => {
    process.umask(given);
    await filled(join(folder, 'data'));
    expect(await otherThan(join(folder, 'data'), PRIVATE)).toEqual([]);
  });

  test('a folder that was made for all to read is made private', async () => {
    process.umask(given);
    const data = join(folder, 'data');
    await mkdir(data, { mode: 0o755 });
    const node = await filled(data);
    await node.close();
    await chmod(data, 0o755);
    for (const name of await readdir(data)) {
      const path = join(data, name);
      await chmod(path, (await stat(path)).isDirectory() ? 0o755 : 0o644);
    }
    await openTestNode({ dataFolder: data });
    expect(await otherThan(data, PRIVATE)).toEqual([]);
  });

  test('a copy is private without pages, and can be read by a web server with them', async () => {
    process.umask(given);
    const node = await filled(join(folder, 'data'));
    const add = async (name: string, pages: boolean) => {
      const target = pathToFileURL(join(folder, name)).href;
      const added = await node.sendJson('POST', '/manage/copies', { target, pages });
      expect(added.status, await added.clone().text()).toBe(201);
      const { id } = (await added.json()) as { id: string };
      expect((await node.sendJson('POST', `/manage/copies/${id}/sync?wait=true`, {})).status).toBe(200);
      return id;
    };
    const id = await add('plain', false);
    await add('pages', true);
    expect(await otherThan(join(folder, 'plain'), PRIVATE)).toEqual([]);
    expect(await otherThan(join(folder, 'pages'), PUBLIC)).toEqual([]);
    // One whose modes are from an earlier version, and one whose pages are turned on.
    await chmod(join(folder, 'plain'), 0o755);
    await writeFile(join(folder, 'plain', 'archive', 'note'), 'x', { mode: 0o644 });
    expect((await node.sendJson('POST', `/manage/copies/${id}/sync?wait=true`, {})).status).toBe(200);
    expect(await otherThan(join(folder, 'plain'), PRIVATE)).toEqual([]);
    await node.sendJson('PATCH', `/manage/copies/${id}`, { pages: true });
    expect((await node.sendJson('POST', `/manage/copies/${id}/sync?wait=true`, {})).status).toBe(200);
    expect(await otherThan(join(folder, 'plain'), PUBLIC)).toEqual([]);
  });
});
