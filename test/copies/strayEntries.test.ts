import { execFileSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { copyFile, cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { signNote } from '../../server/ledger/checkpoint.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { usePreparedCopy } from './preparedCopy.ts';
import { addCopy, check, copyOf, release, sync, verified, withhold } from './withheldCopies.ts';

const prepared = usePreparedCopy();
let place: string;
const inPlace = (path: string) => join(place, path);
beforeAll(() => {
  place = prepared.place;
});

const [SECRET, GIVEN_UP, PUBLIC] = ['one withheld', 'one released', 'one public'];
const ENOUGH = 'x'.repeat(40);

/** A copy with pages of an archive that withholds a file and gave one up. Its node is closed. */
async function cleaned(): Promise<void> {
  await prepared.begin('cleaned', async () => {
    const node = await openTestNode({ dataFolder: prepared.data });
    await uploadNewPack(node, sampleRecord(), { 'a.txt': SECRET, 'b.txt': GIVEN_UP, 'c.txt': PUBLIC });
    const copy = await addCopy(node, place);
    await sync(node, copy);
    await withhold(node, { sha256: sha256Of(SECRET) });
    await release(node, sha256Of(GIVEN_UP));
    await sync(node, copy);
    return node;
  });
}

const INTACT = { ok: true, damaged: [], missing: [], extra: [], exposed: [], notes: [] };

async function openNode(): Promise<TestNode> {
  return openTestNode({ dataFolder: prepared.data });
}

async function put(path: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(inPlace(path)), { recursive: true });
  await writeFile(inPlace(path), content);
}

test('a copy as a node leaves it has nothing that is not in its list', async () => {
  await cleaned();
  expect(await verified(place)).toMatchObject(INTACT);
});

describe('verifying and a check name what is not in the list:', () => {
  const stray = sha256Of(ENOUGH);
  const appleDouble = Buffer.concat([
    Buffer.from('0005160700020000', 'hex'),
    Buffer.from('Mac OS X        '),
  ]);
  test.each<[what: string, path: string, make: (path: string) => Promise<unknown>]>([
    ['an object that no record names', `archive/${stray}`, (path) => put(path, ENOUGH)],
    ['what is named like a part of the list', `files/${stray}`, (path) => put(path, ENOUGH)],
    ['a file with a name of an unfinished one', '.partial-evil.html', (path) => put(path, ENOUGH)],
    ['the same in a folder', 'packs/.partial-0011223344556677-1', (path) => put(path, ENOUGH)],
    ['a page with a name of a system file', 'packs/._a.html', (path) => put(path, '<p>The archive says so.')],
    [
      'a page in a system file',
      '._a.html',
      (path) => put(path, Buffer.concat([appleDouble, Buffer.from('<p>')])),
    ],
    [
      'a page under the name of a system file',
      '.DS_Store',
      (path) => put(path, '\n<!doctype html><h1>It says so.'),
    ],
    ['text with markup in a folder', 'packs/desktop.ini', (path) => put(path, 'It says <b>so</b>.')],
    [
      'a page under the name of an unfinished file',
      '.partial-0011223344556677-1',
      (path) => put(path, '<h1>So.'),
    ],
    ['a system file in other letters', 'THUMBS.DB', (path) => put(path, ENOUGH)],
    ['any text under the name of a system file', '.DS_Store', (path) => put(path, ENOUGH)],
    ['the same of another system', 'packs/Thumbs.db', (path) => put(path, ENOUGH)],
    ['the same in a folder', 'archive/desktop.ini', (path) => put(path, ENOUGH)],
    ['a link beside the pages', 'packs/link.html', (path) => symlink(inPlace('index.html'), inPlace(path))],
    ['a link to nothing', 'packs/none.html', (path) => symlink('nowhere', inPlace(path))],
    ['a link to a folder', 'more', (path) => symlink(dirname(place), inPlace(path))],
    ['a pipe', 'packs/pipe.html', (path) => Promise.resolve(execFileSync('mkfifo', [inPlace(path)]))],
  ])('%s', async (_, path, make) => {
    await cleaned();
    await make(path);
    const found = await verified(place);
    expect(found).toMatchObject({ ok: false, damaged: [], missing: [], extra: [path] });
    const node = await openNode();
    expect(await check(node, await copyOf(node))).toMatchObject({
      ok: false,
      wrong: [{ path, is: 'extra' }],
    });
  });

  test('what is left by systems and by unfinished syncs is a note', async () => {
    await cleaned();
    const left = [
      ['.partial-0011223344556677-12', ENOUGH],
      ['.partial-0011223344556677-13', Buffer.from('\x1f\x8b\x08\0<b>', 'latin1')],
      ['.partial-0011223344556677-14', ''],
      ['.DS_Store', Buffer.from('\0\0\0\x01Bud1<b>', 'latin1')],
      ['packs/Thumbs.db', Buffer.from('d0cf11e0a1b11ae1000000', 'hex')],
      ['archive/desktop.ini', '[.ShellClassInfo]\r\nIconIndex=1\r\n'],
      ['packs/desktop.ini', Buffer.from('\ufeff\r\n[.ShellClassInfo]\r\n', 'utf16le')],
      ['packs/._index.html', appleDouble],
    ] as const;
    for (const [path, content] of left) await put(path, content);
    await mkdir(inPlace('empty'));
    const notes = [...left.map(([path]) => path), 'empty/'].sort();
    const found = await verified(place);
    expect(found).toMatchObject({ ...INTACT, notes });
    // Anybody can have put it there, so no claim that holds is about it.
    expect(found.claims.filter(({ name }) => name.includes('nothing else'))).toEqual([]);
    expect(found.claims).toContainEqual(
      expect.objectContaining({
        id: 'stated',
        state: 'claimed',
        name: 'The other files were left by an operating system or an interrupted sync.',
      }),
    );
    const node = await openNode();
    expect(await check(node, await copyOf(node))).toMatchObject({ ok: true, extra: 0 });
  });
});

test.each(['index.html', 'checkpoint', 'files/list', `archive/${sha256Of(PUBLIC)}`, 'assets/pages.css'])(
  'a link in place of %s fails, even to the same bytes, and a check puts the file back',
  async (path) => {
    await cleaned();
    const outside = join(await temporaryFolder(), 'outside');
    await copyFile(inPlace(path), outside);
    await rm(inPlace(path));
    await symlink(outside, inPlace(path));
    const name = path.replace('archive/', '');
    if (path === 'checkpoint') {
      await expect(verified(place)).rejects.toThrow('no copy');
      return;
    }
    expect(await verified(place)).toMatchObject({ ok: false, missing: [name] });
    const node = await openNode();
    const copy = await copyOf(node);
    expect(await check(node, copy)).toMatchObject({ ok: false, missing: 1 });
    expect(await check(node, copy)).toMatchObject({ ok: true });
    expect(await verified(place)).toMatchObject(INTACT);
  },
);

test('a link in place of a folder fails', async () => {
  await cleaned();
  await rename(inPlace('packs'), inPlace('kept'));
  await cp(inPlace('kept'), join(await temporaryFolder(), 'packs'), { recursive: true });
  await symlink(inPlace('kept'), inPlace('packs'));
  const { ok, extra } = await verified(place);
  expect([ok, extra.includes('packs')]).toEqual([false, true]);
});

describe.each([
  ['withheld', SECRET],
  ['released', GIVEN_UP],
])('what is %s fails if it lies there in the clear', (_, text) => {
  const sha256 = sha256Of(text);
  test.each([`archive/${sha256}`, '.partial-0011223344556677-3', '.DS_Store', `files/${sha256}`])(
    'as %s',
    async (path) => {
      await cleaned();
      await put(path, text);
      expect(await verified(place)).toMatchObject({ ok: false, exposed: [path] });
      const node = await openNode();
      expect(await check(node, await copyOf(node))).toMatchObject({
        ok: false,
        wrong: [{ path, is: 'exposed' }],
      });
    },
  );
});

describe('a copy without its own list fails:', () => {
  test('one whose list was removed, alone or with its parts', async () => {
    await cleaned();
    await rm(inPlace('files/list'));
    expect(await verified(place)).toMatchObject({ ok: false, missing: ['files/list'] });
    await rm(inPlace('files'), { recursive: true });
    expect(await verified(place)).toMatchObject({ ok: false, missing: ['files/list'] });
  });

  test('one with an older list', async () => {
    await cleaned();
    const older = join(await temporaryFolder(), 'files');
    await cp(inPlace('files'), older, { recursive: true });
    const node = await openNode();
    await uploadNewPack(node, sampleRecord({ title: 'Later' }), { 'd.txt': 'later' });
    await sync(node, await copyOf(node));
    await rm(inPlace('files'), { recursive: true });
    await cp(older, inPlace('files'), { recursive: true });
    expect(await verified(place)).toMatchObject({ ok: false, damaged: ['files/list'] });
  });

  test('one with the list of another archive of the same name', async () => {
    await cleaned();
    const other = await openTestNode();
    const elsewhere = join(await temporaryFolder(), 'copy');
    await uploadNewPack(other, sampleRecord(), { 'a.txt': SECRET });
    await sync(other, await addCopy(other, elsewhere));
    await rm(inPlace('files'), { recursive: true });
    await cp(join(elsewhere, 'files'), inPlace('files'), { recursive: true });
    expect(await verified(place)).toMatchObject({ ok: false, damaged: ['files/list'] });
  });

  test('one whose list somebody else signed, for this checkpoint, under the same name', async () => {
    await cleaned();
    const other = await openTestNode();
    const pem = await readFile(join(other.dataFolder, 'key'), 'utf8');
    const theirs = (await (await other.fetch('/api/ledger/key')).text()).trim();
    const page = '<p>The archive says so.';
    await put('index.html', page);
    const [whole = ''] = (await readFile(inPlace('files/list'), 'utf8')).split('\n\n', 1);
    const [format, , statement, ...parts] = whole.split('\n');
    const lines = (
      await Promise.all(parts.map((part) => readFile(inPlace(part.split('  ')[1] ?? ''), 'utf8')))
    ).join('');
    const claim = {
      ...(JSON.parse(await readFile(inPlace('strongroom.json'), 'utf8')) as object),
      key: theirs,
    };
    await put('strongroom.json', JSON.stringify(claim));
    const forged = lines
      .replace(/^.{64}  index\.html$/m, `${sha256Of(page)}  index.html`)
      .replace(/^.{64}  strongroom\.json$/m, `${sha256Of(JSON.stringify(claim))}  strongroom.json`);
    await put(`files/${sha256Of(forged)}`, forged);
    const name = theirs.split('+', 1)[0] ?? '';
    const text = `${format}\n${name}\n${statement}\n${sha256Of(forged)}  files/${sha256Of(forged)}\n`;
    const key = { name, verifierKey: theirs, privateKey: createPrivateKey(pem) };
    await put('files/list', signNote(key, text));
    expect(await verified(place)).toMatchObject({ ok: false, damaged: ['files/list'] });
  });

  test('one whose state is newer than the signed list, as a mixture of two syncs', async () => {
    await cleaned();
    const [state = ''] = await readdir(inPlace('state'));
    const older = join(await temporaryFolder(), 'older');
    await cp(place, older, { recursive: true });
    const node = await openNode();
    await uploadNewPack(node, sampleRecord({ title: 'Later' }), { 'd.txt': 'later' });
    await node.sendJson('POST', '/manage/sources', { url: 'http://a.example/' });
    await sync(node, await copyOf(node));
    // The newer list does not have the older state, which the older checkpoint needs.
    await copyFile(join(older, 'checkpoint'), inPlace('checkpoint'));
    const text = await readFile(join(older, 'state', state), 'utf8');
    await put(`state/${state}`, text);
    for (const each of await readdir(join(older, 'records')))
      await copyFile(join(older, 'records', each), inPlace(`records/${each}`));
    expect(await verified(place)).toMatchObject({ ok: false });
  });
});
