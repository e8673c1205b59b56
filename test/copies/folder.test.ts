import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openTarget } from '../../server/copies/targets/openTarget.ts';
import { CopyError, type CopyTarget } from '../../server/copies/targets/target.ts';
import type { Copy } from '../../shared/node/copy.ts';
import { problemOf, sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

let place: string;
const opened: CopyTarget[] = [];

beforeEach(async () => {
  place = join(await temporaryFolder(), 'copy');
});
afterEach(async () => {
  for (const target of opened.splice(0)) await target.close();
  await closeTestNodes();
});

async function opening(isNew: boolean): Promise<CopyTarget> {
  const target = await openTarget({ target: pathToFileURL(place).href }, { isNew });
  opened.push(target);
  return target;
}

const put = (target: CopyTarget, path: string) =>
  target.put(path, { bytes: Buffer.from(path) }, { type: 'text/plain' });

describe('the commands take the path of a copy’s folder', () => {
  test('absolute, relative and as a URL', async () => {
    const node = await openTestNode();
    await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    const data = node.dataFolder;
    await node.close();
    const parent = dirname(place);
    expect(await runHere(['copy', './copy', '--data', data], parent)).toMatchObject({ code: 0, stderr: '' });
    const words: [string, string?][] = [
      [place],
      [`${place}/`],
      ['copy', parent],
      ['./copy', parent],
      ['.', place],
      [pathToFileURL(place).href],
    ];
    for (const [word, cwd] of words) {
      const verified = await runHere(['verify', word, '--json'], cwd);
      expect(verified.code, word).toBe(0);
      expect(JSON.parse(verified.stdout), word).toMatchObject({ ok: true, entries: 1, objects: 1 });
    }
    const restored = join(parent, 'restored');
    expect(await runHere(['restore', 'copy', '--data', restored], parent)).toMatchObject({ code: 0 });
    expect(await runHere(['verify', place, place])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Name one folder or bucket.') as string,
    });
    const [digest = ''] = (await readdir(join(place, 'archive'))).filter((name) => !name.includes('.'));
    await writeFile(join(place, 'archive', digest), 'two');
    expect(await runHere(['verify', place])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`damaged  ${digest}`) as string,
    });
  });
});

describe('a folder whose disk is disconnected during a sync', () => {
  test('is not made again, and nothing counts as written', async () => {
    const target = await opening(true);
    const file = join(await temporaryFolder(), 'object');
    await writeFile(file, 'one');
    const sha256 = '7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed';
    await rm(place, { recursive: true });
    const object = target.put(`archive/${sha256}`, { file, size: 3, sha256 }, { type: 'text/plain' });
    await expect(object).rejects.toThrow('cannot be reached');
    await expect(target.flush()).rejects.toThrow(CopyError);
    expect(existsSync(place)).toBe(false);
  });

  test('is not mistaken for the folder below it', async () => {
    const target = await opening(true);
    await put(target, 'strongroom.json');
    await target.flush();
    await rename(place, `${place}-disconnected`);
    await mkdir(place);
    await put(target, 'archive/one');
    await expect(target.flush()).rejects.toThrow('was disconnected');
  });

  test('is not created by a later sync', async () => {
    const node = await openTestNode();
    await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one' });
    const answer = await node.sendJson('POST', '/manage/copies', { target: pathToFileURL(place).href });
    const { id } = (await answer.json()) as Copy;
    await rename(place, `${place}-disconnected`);
    const sync = () => node.fetchAsOwner(`/manage/copies/${id}/sync?wait=true`, { method: 'POST' });
    expect(await problemOf(sync())).toMatchObject({ code: 'copy_failed' });
    expect(existsSync(place)).toBe(false);
    await rename(`${place}-disconnected`, place);
    expect((await sync()).status).toBe(200);
  });
});

test('no copy is made within the data folder', async () => {
  const node = await openTestNode();
  for (const path of ['', 'inner', 'blobs/../inner/deeper', '..inner']) {
    const target = pathToFileURL(join(node.dataFolder, path)).href;
    const refused = await problemOf(node.sendJson('POST', '/manage/copies', { target }));
    expect(refused).toMatchObject({
      code: 'copy_failed',
      detail: expect.stringContaining('within the data') as string,
    });
  }
  expect(existsSync(join(node.dataFolder, 'inner'))).toBe(false);
  await symlink(node.dataFolder, `${node.dataFolder}-link`);
  const linked = pathToFileURL(join(`${node.dataFolder}-link`, 'inner')).href;
  expect(await problemOf(node.sendJson('POST', '/manage/copies', { target: linked }))).toMatchObject({
    detail: expect.stringContaining('within the data') as string,
  });
  const target = pathToFileURL(`${node.dataFolder}-copy`).href;
  expect((await node.sendJson('POST', '/manage/copies', { target })).status).toBe(201);
});

test('a place is one copy, however its address is written', async () => {
  const node = await openTestNode();
  const target = pathToFileURL(place).href;
  await symlink(place, `${place}-link`);
  const add = (address: string) => node.sendJson('POST', '/manage/copies', { target: address });
  expect((await add(target)).status).toBe(201);
  for (const same of [target, `${target}/`, `${target}/.`, `${target}/../copy`, `${target}-link`])
    expect(await problemOf(add(same)), same).toMatchObject({ status: 409, code: 'copy_exists' });
  const synced = await runHere(['copy', `${place}-link`, '--data', node.dataFolder]);
  expect(synced, synced.stderr).toMatchObject({ code: 0 });
});

test.each(['%zz', '%00', 'a?b', 'a#b'])('an address that ends in %s names no place', async (name) => {
  const node = await openTestNode();
  const target = `${pathToFileURL(place).href}/${name}`;
  expect(await problemOf(node.sendJson('POST', '/manage/copies', { target }))).toMatchObject({
    status: 422,
    errors: [{ path: '/target' }],
  });
});

test('a program that only opens a folder leaves the files alone that another is writing', async () => {
  const writing = await opening(true);
  await put(writing, 'strongroom.json');
  await opening(false);
  await opening(true);
  await writing.flush();
  expect(await readFile(join(place, 'strongroom.json'), 'utf8')).toBe('strongroom.json');
});

test('what a killed process left is removed before the next file is written', async () => {
  await mkdir(place);
  await writeFile(join(place, '.partial-0123-1'), 'left');
  const target = await opening(false);
  await put(target, 'archive/one');
  await target.flush();
  expect(await readdir(place)).toEqual(['archive']);
});
