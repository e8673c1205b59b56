import { execFileSync } from 'node:child_process';
import { chmod, mkdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { openReferenceArchive } from '../../server/verification/plainFiles.ts';
import { Tally } from '../../server/verification/report.ts';
import { verifyPaths } from '../../server/verification/verifyPaths.ts';
import {
  BAG,
  bareEntries,
  manifestOf,
  ROOT,
  SAMPLE_FILES,
  tagFile,
  VALID_PACK_FILE,
  withTagManifest,
} from '../support/archive/packFiles.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { buildZip } from '../support/archive/zipBuilder.ts';
import { extract } from '../support/extract.ts';
import { openTestNode } from '../support/node.ts';
import { lines, testFolder } from './testFolder.ts';

const { at, write, verdicts, findings } = testFolder();

test('a data folder with other bytes in the place of an object does not hold it', async () => {
  const [whole, damaged] = [sha256Of('whole'), sha256Of('bytes')];
  const blobAt = (digest: string) => `data/blobs/${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`;
  await write({ a: 'whole', b: 'bytes', [blobAt(whole)]: 'whole', [blobAt(damaged)]: 'BYTES' });
  const holder = await openReferenceArchive(at('data'));
  expect(await verdicts(['a', 'b'], { holder })).toEqual({ a: 'intact', b: 'unknown' });
});

test('a link that was named is said to be followed, also to a file that proves itself', async () => {
  await writeFile(at('pack.zip'), VALID_PACK_FILE);
  await symlink(at('pack.zip'), at('link.zip'));
  for (const { state, detail } of await findings('link.zip'))
    expect([state, detail]).toEqual(['intact', expect.stringContaining('a symbolic link, followed')]);
});

test('a file named by a digest is compared with its name, whatever it holds', async () => {
  await write({ [sha256Of('a')]: 'a', [sha256Of('b')]: 'damaged' });
  const both = { [sha256Of('a')]: 'intact', [sha256Of('b')]: 'changed' };
  expect(await verdicts([''])).toEqual(both);
  // Also if it is named alone and holds the digests of others.
  await write({ x: 'x', [sha256Of('b')]: lines({ x: 'x' }).join('') });
  expect(await verdicts(Object.keys(both))).toEqual(both);
});

test('symbolic links are reported but not followed, and unreadable or special files are reported', async () => {
  await write({ a: 'a', SHA256SUMS: lines({ a: 'a', link: 'a' }).join('') });
  await symlink('a', at('link'));
  await symlink('.', at('circle'));
  expect(await verdicts([''])).toEqual({ a: 'intact', link: 'unknown', circle: 'unknown' });
  const named = (await findings('SHA256SUMS')).find(({ path }) => path === 'link');
  expect(named).toMatchObject({ state: 'intact', detail: expect.stringContaining('followed') as string });
  await rm(at('link'));
  await mkdir(at('closed'));
  await chmod(at('a'), 0);
  const said = await verdicts(['', 'nowhere']);
  expect(said.nowhere).toBe('missing');
  if (process.getuid?.() !== 0) expect(said.a).toBe('unknown');
});

test('a pipe or a device beside a timestamp or a proof is not read', async () => {
  await write({ 'x.tsr': 'reply', 'x.tlog-proof': 'c2sp.org/tlog-proof@v1\nindex 0\n\n', 'y.tsr': 'reply' });
  execFileSync('mkfifo', [at('x.txt'), at('x.entry.json')]);
  await symlink('/dev/zero', at('y.txt'));
  expect(await verdicts([''])).toEqual({
    'x.tsr': 'unknown',
    'x.txt': 'unknown',
    'x.tlog-proof': 'unknown',
    'x.entry.json': 'unknown',
    'y.tsr': 'unknown',
    'y.txt': 'unknown',
  });
});

test('a timestamp that is too large to be one is unknown, and the other files are verified', async () => {
  await write({ 'x.tsr': '', 'x.txt': 'text', SHA256SUMS: lines({ 'x.txt': 'text' }).join('') });
  await truncate(at('x.tsr'), 2 ** 31);
  expect(await verdicts([''])).toEqual({ 'x.tsr': 'unknown', 'x.txt': 'intact' });
});

test.each([
  ['a changed file', { 'data/notes.txt': 'Measured by foot.\n' }, { 'data/notes.txt': 'changed' }],
  ['a new file', { 'data/new.txt': '' }, { 'data/new.txt': 'unknown' }],
  ['a changed record', { 'pack.json': '{}' }, { 'pack.json': 'changed' }],
  ['a new tag file', { 'more.txt': '' }, { 'more.txt': 'unknown' }],
  ['a changed bag-info.txt', { 'bag-info.txt': 'Payload-Oxum: 1.1\n' }, { 'bag-info.txt': 'changed' }],
])('a bag in a folder with %s is not intact', async (_what, changes, expected) => {
  await write({ 'x.zip': VALID_PACK_FILE });
  await extract(at('x.zip'), at(''));
  const honest = await verdicts([ROOT.slice(0, -1)]);
  expect(new Set(Object.values(honest))).toEqual(new Set(['intact']));
  await write(Object.fromEntries(Object.entries(changes).map(([path, text]) => [ROOT + path, text])));
  const said = await verdicts([ROOT.slice(0, -1)]);
  expect(said).toEqual({
    ...honest,
    ...Object.fromEntries(Object.entries(expected).map(([path, state]) => [ROOT + path, state])),
  });
});

test('a file removed from a bag is missing', async () => {
  await write({ 'x.zip': VALID_PACK_FILE });
  await extract(at('x.zip'), at(''));
  await rm(at(`${ROOT}data/notes.txt`));
  expect(await verdicts([ROOT])).toMatchObject({ [`${ROOT}data/notes.txt`]: 'missing' });
});

test('rewriting files, manifests and record together is detected by the folder name', async () => {
  const forged = bareEntries({ 'notes.txt': 'forged' }).map((entry) => ({
    ...entry,
    name: ROOT + entry.name.toString(),
  }));
  await write({ 'x.pack.zip': buildZip(forged) });
  const record = (await findings('x.pack.zip')).find(({ path }) => path.endsWith('pack.json'));
  expect(record).toMatchObject({
    state: 'changed',
    detail: expect.stringContaining('its fingerprint gives pk_') as string,
  });
});

test('a pack file that is named by the id of another pack is changed, whatever its folder is called', async () => {
  const other = 'pk_00000000000000000000.pack.zip';
  const bare = buildZip(bareEntries({ 'notes.txt': 'a' }));
  await write({ [other]: VALID_PACK_FILE, [`in/${other}`]: bare, 'x.pack.zip': bare });
  const said = await verdicts([other, `in/${other}`, 'x.pack.zip']);
  expect(said).toMatchObject({
    [`${other}/pack.json`]: 'changed',
    [`in/${other}/pack.json`]: 'changed',
    'x.pack.zip/pack.json': 'intact',
  });
});

test('a file is a pack file by its name, whatever the case of the letters', async () => {
  const withoutRecord = BAG.filter(({ name }) => !String(name).endsWith('/pack.json'));
  const listed = withTagManifest(withoutRecord);
  await write({ 'X.PACK.ZIP': buildZip(listed) });
  expect(await findings('X.PACK.ZIP')).toEqual([
    expect.objectContaining({ state: 'changed', detail: expect.stringContaining('pack.json') as string }),
  ]);
});

test('manifests of every algorithm are checked', async () => {
  const wrong = manifestOf({ ...SAMPLE_FILES, 'notes.txt': 'other' }, 'sha512');
  await write({ 'x.pack.zip': buildZip(withTagManifest(tagFile('manifest-sha512.txt', wrong))) });
  expect(await verdicts(['x.pack.zip'])).toMatchObject({ 'x.pack.zip/data/notes.txt': 'changed' });
});

test('a malformed pack file is reported as changed with a reason', async () => {
  await write({ 'x.pack.zip': buildZip([...BAG, { name: `${ROOT}data/../../x` }]) });
  expect(await findings('x.pack.zip')).toEqual([
    expect.objectContaining({ state: 'changed', detail: expect.stringContaining('(unsafe_path)') as string }),
  ]);
});

test('a ZIP that is not a pack file is an ordinary file', async () => {
  await write({ 'x.zip': buildZip([{ name: 'holiday.jpg' }]), 'y.zip': buildZip(bareEntries()) });
  expect(await verdicts(['x.zip', 'y.zip'])).toMatchObject({
    'x.zip': 'unknown',
    'y.zip/pack.json': 'intact',
  });
});

test('a dump that is nested deep is changed, and the other files are verified', async () => {
  const deep = `${'['.repeat(300_000)}${']'.repeat(300_000)}`;
  await write({ 'a.jsonl': `{"kind":"header","format":${deep}}\n`, [sha256Of('b')]: 'b' });
  expect(await verdicts(['a.jsonl', sha256Of('b')])).toEqual({
    'a.jsonl': 'changed',
    [sha256Of('b')]: 'intact',
  });
});

test('a dump is compared with its trailer, and a truncated dump is reported as truncated', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, { title: 'Älter' });
  const dump = await (await node.fetch('/api/dump.jsonl')).text();
  const body = dump.slice(0, dump.lastIndexOf('{"kind":"trailer"'));
  await write({
    'good.jsonl': dump,
    'open.jsonl': dump.trimEnd(),
    'changed.jsonl': dump.replace('Ä', 'A'),
    'cut.jsonl': dump.slice(0, -30),
    'short.jsonl': body,
  });
  expect(await verdicts(['good.jsonl', 'open.jsonl', 'changed.jsonl', 'cut.jsonl', 'short.jsonl'])).toEqual({
    'good.jsonl': 'intact',
    'open.jsonl': 'intact',
    'changed.jsonl': 'changed',
    'cut.jsonl': 'changed',
    'short.jsonl': 'changed',
  });
});

test('a node or its data folder confirms which files it holds', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, {}, SAMPLE_FILES);
  await write({
    'renamed.csv': SAMPLE_FILES['readings/north.csv'] ?? '',
    'stranger.csv': 'x',
    'x.pack.zip': VALID_PACK_FILE,
  });
  for (const place of [node.url, node.dataFolder]) {
    const said = await verdicts([''], { holder: await openReferenceArchive(place) });
    expect(said).toMatchObject({
      'renamed.csv': 'intact',
      'stranger.csv': 'unknown',
      'x.pack.zip/data/notes.txt': 'intact',
    });
  }
  await expect(openReferenceArchive(at(''))).rejects.toThrow('neither the URL of a node nor a data folder');
  const closed = await openReferenceArchive('http://127.0.0.1:9');
  await expect(closed.holds(sha256Of(''), 0)).rejects.toThrow('cannot be reached');
});

test('a large set is hashed in threads, in order, with complete progress', async () => {
  const files = Object.fromEntries(
    Array.from({ length: 300 }, (_, index) => [`f${1000 + index}`, `file ${index}`]),
  );
  await write({ ...files, '0 large': Buffer.alloc(40_000_000, 1) });
  await write({ SHA256SUMS: lines(files).join('') });
  const totals = { found: 0, read: 0 };
  const progress = {
    found: (bytes: number) => void (totals.found += bytes),
    read: (bytes: number) => void (totals.read += bytes),
  };
  const said = await verdicts([''], { progress });
  expect(Object.keys(said)).toEqual(['0 large', ...Object.keys(files)].sort());
  expect(Object.values(said).filter((state) => state === 'intact')).toHaveLength(300);
  expect(totals.read).toBe(totals.found);
  await rename(at('f1000'), at('elsewhere'));
  expect(await verdicts([''])).toMatchObject({ elsewhere: 'unknown', f1000: 'missing' });
});

test('an empty set is not intact', () => {
  expect(new Tally().summary.ok).toBe(false);
});

const OTHER_BAG = {
  'bagit.txt': 'BagIt-Version: 0.97\nTag-File-Character-Encoding: UTF-8\n',
  'manifest-sha256.txt': `${sha256Of('one')}  data/ü.txt\n`,
  'bag-info.txt': 'Payload-Oxum: 3.1\n',
  'data/ü.txt': 'one',
};

test.each([
  ['bag-info.txt', 'a byte order mark', Buffer.from('\ufeffPayload-Oxum: 3.1\n')],
  ['bag-info.txt', 'ISO-8859-1', Buffer.from('Contact-Name: M\xfcller\nPayload-Oxum: 3.1\n', 'latin1')],
  ['bagit.txt', 'a byte order mark', Buffer.from(`\ufeff${OTHER_BAG['bagit.txt']}`)],
  ['manifest-sha256.txt', 'a byte order mark', Buffer.from(`\ufeff${OTHER_BAG['manifest-sha256.txt']}`)],
  ['manifest-sha256.txt', 'ISO-8859-1', Buffer.from(OTHER_BAG['manifest-sha256.txt'], 'latin1')],
])('the payload of a bag is verified although its %s has %s, and this is said', async (name, _, bytes) => {
  await write(
    Object.fromEntries(
      Object.entries({ ...OTHER_BAG, [name]: bytes }).map(([path, content]) => [`bag/${path}`, content]),
    ),
  );
  const found = await findings('bag');
  expect(found.find(({ path }) => path.endsWith('data/ü.txt'))).toMatchObject({ state: 'intact' });
  expect(found.find(({ path }) => path.endsWith(name))).toMatchObject({
    state: 'changed',
    detail: `${name} must be UTF-8 without a byte order mark.`,
  });
  await write({ 'bag/data/ü.txt': 'two' });
  expect(await verdicts(['bag'])).toMatchObject({ 'bag/data/ü.txt': 'changed' });
});

test('a bag in a ZIP is verified, and what is beside it or has a name twice is named', async () => {
  const bag = Object.entries(OTHER_BAG).map(([name, data]) => ({ name: `b/${name}`, data }));
  const beside = [
    { name: '__MACOSX/b/._bagit.txt', data: 'x' },
    { name: 'note.txt', data: 'x' },
  ];
  await write({
    'beside.zip': buildZip([...bag, ...beside]),
    'twice.zip': buildZip([...bag, { name: 'b/data/ü.txt', data: 'two' }]),
    'several.zip': buildZip([
      ...bag,
      ...bag.map(({ name, data }) => ({ name: name.replace('b/', 'c/'), data })),
    ]),
    'cut.zip': buildZip(bag).subarray(0, 300),
    'backslash.zip': buildZip(bag.map(({ name, data }) => ({ name: name.replaceAll('/', '\\'), data }))),
    'bzip2.zip': buildZip(bag.map((entry) => ({ ...entry, method: 12 }))),
    'prefix.zip': Buffer.concat([Buffer.from('#!/bin/sh\n'), buildZip(bag)]),
    'b.tar.gz': 'x',
  });
  expect(await verdicts(['beside.zip'])).toMatchObject({
    'beside.zip/data/ü.txt': 'intact',
    'beside.zip/../__MACOSX/b/._bagit.txt': 'unknown',
    'beside.zip/../note.txt': 'unknown',
  });
  expect((await findings('twice.zip')).find(({ path }) => path.endsWith('ü.txt'))).toMatchObject({
    state: 'changed',
    detail: 'two entries of the ZIP have this name',
  });
  const reasons: Record<string, RegExp> = {
    'several.zip': /several bags/,
    'cut.zip': /No bag in it is verified: .*truncated/,
    'backslash.zip': /No bag in it is verified: .*A path must use \/ instead of a backslash/,
    'bzip2.zip': /No bag in it is verified: .* is neither stored nor deflated/,
    'prefix.zip': /No bag in it is verified: The end record of the ZIP does not match/,
    'b.tar.gz': /archive of this kind is not opened/,
  };
  const single = verifyPaths({ paths: Object.keys(reasons).map((name) => at(name)) });
  for await (const batch of single)
    for (const { path, state, detail } of batch) {
      expect(state).toBe('unknown');
      expect(detail).toMatch(reasons[path.replace(`${at('')}/`, '')] ?? /$^/);
    }
});
