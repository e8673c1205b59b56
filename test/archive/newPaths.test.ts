import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import { addPeer, expectVerified, mirror } from '../peers/support.ts';
import { bareEntries, recordFor } from '../support/archive/packFiles.ts';
import { type Files, problemOf, sampleRecord, sha256Of, uploadPack } from '../support/archive/packs.ts';
import { writtenPackFile } from '../support/archive/writtenPackFile.ts';
import { buildZip } from '../support/archive/zipBuilder.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

afterEach(closeTestNodes);

/** Names that look like others, each with what the refusal must say. */
const NAMES: [path: string, says: string][] = [
  ['invoice\u202egpj.exe', '“invoice[U+202E]gpj.exe”'],
  ['a\u200b.txt', '“a[U+200B].txt”'],
  ['folder\u2067/a.txt', 'U+2067'],
  ['a\u00ad.txt', 'U+00AD'],
  ['a\ufeff.txt', 'U+FEFF'],
  ['a\u061c.txt', 'U+061C'],
  ['a\u2028.txt', 'U+2028'],
  ['a\u3164.txt', 'U+3164'],
  ['a\u{e0041}.txt', 'U+E0041'],
  ['da\u200dta.txt', 'U+200D'],
];
const PAIR: Files = { 'ẞ.txt': 'capital', 'ß.txt': 'small' };
const OLD: Files = { ...PAIR, 'invoice\u202egpj.exe': 'old', 'a\u200b.txt': 'hidden' };

const sendZip = (node: TestNode, body: Buffer) =>
  node.fetchAsOwner('/api/packs', {
    method: 'POST',
    headers: { 'Content-Type': 'application/zip' },
    body: new Uint8Array(body),
  });

describe('a path that is not what it seems is refused for a new pack', () => {
  test.each(NAMES)('%j', async (path, says) => {
    const node = await openTestNode();
    const refused = await problemOf(uploadPack(node, sampleRecord(), { [path]: 'x' }));
    expect(refused).toMatchObject({
      status: 422,
      code: 'invalid_field',
      errors: [{ path: '/files/0/path' }],
    });
    expect(refused.detail).toContain(says);
    expect(refused.detail).toMatch(/Rename/);
    expect(await (await node.fetch('/api/packs')).json()).toMatchObject({ total: 0 });
  });

  test('but not joiners that its script needs, unless a joiner alone tells it from another', async () => {
    const node = await openTestNode();
    const needed = ['می\u200cخواهم.txt', 'क्\u200dष.txt', '👩🏽\u200d🔬.png', '❤\ufe0f\u200d🔥.png'];
    const files = Object.fromEntries(needed.map((path) => [path, path]));
    expect((await uploadPack(node, sampleRecord(), files)).status).toBe(201);
    const twice = { 'می\u200cخواهم.txt': 'a', 'میخواهم.txt': 'b' };
    expect((await problemOf(uploadPack(node, sampleRecord(), twice))).detail).toContain('the same file');
  });

  test('and so are two that differ only in ẞ, in an upload, a plain ZIP and a draft', async () => {
    const node = await openTestNode();
    const sentence = /“ẞ.txt” and “ß.txt” are the same file on some systems. Rename one of them./;
    expect((await problemOf(uploadPack(node, sampleRecord(), PAIR))).detail).toMatch(sentence);
    expect((await problemOf(sendZip(node, buildZip(bareEntries(PAIR))))).detail).toMatch(sentence);
    const created = await node.sendJson('POST', '/manage/drafts', { record: sampleRecord() });
    const { id } = (await created.json()) as { id: string };
    const put = (path: string) =>
      node.fetchAsOwner(`/manage/drafts/${id}/files?path=${encodeURIComponent(path)}`, {
        method: 'PUT',
        headers: { 'Content-Type': 'application/octet-stream' },
        body: path,
      });
    for (const path of Object.keys(PAIR)) expect((await put(path)).status).toBeLessThan(300);
    expect((await problemOf(put('a\u202e.txt'))).detail).toContain('U+202E');
    const published = await problemOf(node.fetchAsOwner(`/manage/drafts/${id}/publish`, { method: 'POST' }));
    expect(published.detail).toMatch(sentence);
  });

  test('and in a folder that a command makes a pack file of', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'data'));
    await writeFile(join(folder, 'data', 'a\u202e.txt'), 'x');
    await writeFile(join(folder, 'record.json'), JSON.stringify(sampleRecord()));
    const ran = await runHere([
      'pack',
      join(folder, 'data'),
      '--record',
      join(folder, 'record.json'),
      '-o',
      join(folder, 'made.zip'),
    ]);
    expect(ran.code).not.toBe(0);
    expect(ran.stderr).toContain('U+202E');
  });

  test('but one that is unusual and seen is taken', async () => {
    const node = await openTestNode();
    const files = { 'Straße.txt': 'x', '❤️.txt': 'y', 'סיכום.txt': 'z', '\u0600١.txt': 'number' };
    expect((await uploadPack(node, sampleRecord(), files)).status).toBe(201);
  });
});

test('a pack that exists with such paths is imported, sent again, verified, restored and mirrored', async () => {
  const node = await openTestNode();
  const record = recordFor(OLD);
  const imported = await sendZip(node, await writtenPackFile(record, OLD));
  expect(imported.status).toBe(201);
  const { id } = (await imported.json()) as Pack;
  expect((await uploadPack(node, record, OLD)).status).toBe(200);
  expect(await (await node.fetch(`/api/packs/${id}/verify`)).json()).toMatchObject({ ok: true });
  const file = await node.fetch(`/api/packs/${id}/file`);
  const other = await openTestNode();
  expect((await sendZip(other, Buffer.from(await file.arrayBuffer()))).status).toBe(201);
  const mirrored = await openTestNode();
  await mirror(mirrored, await addPeer(mirrored, node.url), { packs: true });
  expect(await (await mirrored.fetch(`/api/blobs/${sha256Of('old')}`)).text()).toBe('old');
  await expectVerified(mirrored);
});
