import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { imported } from '../collection/captures/support.ts';
import { openCollectingNode } from '../collection/support.ts';
import {
  filesOf,
  packForm,
  sampleRecord,
  sha256Of,
  uploadNewPack,
  uploadPack,
} from '../support/archive/packs.ts';
import { closeScriptedWebs, ScriptedWeb, tagged } from '../support/network/scriptedWeb.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';
import { response } from '../support/warcFiles.ts';
import { audit, fileOf, fixityOf, objectEntries, overwrite } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

const A = sha256Of('first');

/** Returns the names and bytes of the files that were set aside. */
async function setAside(folder: string): Promise<Record<string, string>> {
  const names = await readdir(join(folder, 'damaged'));
  const bytes = await Promise.all(names.map((name) => readFile(join(folder, 'damaged', name), 'utf8')));
  return Object.fromEntries(names.map((name, index) => [name, bytes[index] ?? '']));
}

test('uploading the same pack again repairs its blobs; damaged files are set aside under their own digest', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'first' });
  await overwrite(node.dataFolder, A, 'fixed');
  await audit(node);
  expect((await uploadPack(node, sampleRecord(), { 'a.txt': 'first' })).status).toBe(200);
  expect(await readFile(fileOf(node.dataFolder, A), 'utf8')).toBe('first');
  expect(await setAside(node.dataFolder)).toEqual({ [`${A}.${sha256Of('fixed')}`]: 'fixed' });
  expect((await objectEntries(node)).map(({ type }) => type)).toEqual(['object.damaged', 'object.restored']);
  expect(await fixityOf(node)).toMatchObject({ damaged_objects: 0 });
});

test('a new pack with the same file repairs it, and damage that no audit had found is recorded', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'first' });
  await overwrite(node.dataFolder, A, 'fixed');
  await uploadNewPack(node, sampleRecord({ title: 'Another' }), { 'copy.txt': 'first' });
  expect(await readFile(fileOf(node.dataFolder, A), 'utf8')).toBe('first');
  expect(await setAside(node.dataFolder)).toEqual({ [`${A}.${sha256Of('fixed')}`]: 'fixed' });
  expect((await objectEntries(node)).map(({ type, subject }) => [type, subject])).toEqual([
    ['object.damaged', A],
    ['object.restored', A],
  ]);
});

test('a source with a damaged object is fetched without validators, which repairs it', async () => {
  const web = await ScriptedWeb.open();
  web.script('/page', tagged('first', '"1"'));
  const { node } = await openCollectingNode();
  await node.sendJson('POST', '/manage/sources', { url: web.url('/page') });
  const check = async () =>
    (await node.sendJson('POST', '/manage/collections?wait=true', {})).json() as Promise<object>;
  await check();
  await overwrite(node.dataFolder, A, 'fixed');
  await audit(node);
  expect(await check()).toMatchObject({ unchanged: 1, failed: 0, events: [] });
  expect(web.requests('/page')[1]?.headers).not.toHaveProperty('if-none-match');
  expect(await readFile(fileOf(node.dataFolder, A), 'utf8')).toBe('first');
  expect(Object.values(await setAside(node.dataFolder))).toEqual(['fixed']);
  expect((await objectEntries(node)).map(({ type }) => type)).toEqual(['object.damaged', 'object.restored']);
});

test('a record that reuses a damaged blob is refused until it uploads the bytes', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, sampleRecord(), { 'a.txt': 'first' });
  await rm(fileOf(node.dataFolder, A));
  await audit(node);
  const record = sampleRecord({ title: 'Another', files: filesOf({ 'a.txt': 'first' }) });
  const refused = await node.sendJson('POST', '/api/packs', record);
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ code: 'unknown_blob', errors: [{ path: '/files/0/sha256' }] });
  const body = packForm(record, { 'a.txt': 'first' });
  expect((await node.fetchAsOwner('/api/packs', { method: 'POST', body })).status).toBe(201);
  expect(await fixityOf(node)).toMatchObject({ damaged_objects: 0 });
});

test('importing the same captures again repairs their objects and adds no captures', async () => {
  const collecting = await openCollectingNode();
  const { node } = collecting;
  await imported(collecting, response('first'));
  await overwrite(node.dataFolder, A, 'fixed');
  await audit(node);
  expect(await imported(collecting, response('first'))).toMatchObject({ already_held: 1, events: [] });
  expect(await readFile(fileOf(node.dataFolder, A), 'utf8')).toBe('first');
  expect(Object.values(await setAside(node.dataFolder))).toEqual(['fixed']);
  expect((await objectEntries(node)).map(({ type }) => type)).toEqual(['object.damaged', 'object.restored']);
});
