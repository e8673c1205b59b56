import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { Finding } from '../../server/verification/report.ts';
import { verifyPaths } from '../../server/verification/verifyPaths.ts';
import { entriesOf } from '../forger/zip.ts';
import { ROOT, VALID_PACK_FILE } from '../support/archive/packFiles.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { buildZip } from '../support/archive/zipBuilder.ts';
import { extract } from '../support/extract.ts';
import { openTestNode } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { lines, testFolder } from './testFolder.ts';

/*
 * A folder or a ZIP with the name of a pack, a case or an exported archive must be one. Otherwise somebody could remove the tag
 * files of a bag, or empty it, and nothing would be wrong with the rest.
 */

const { at, write, verdicts, findings } = testFolder();

const CASE = `ca_${'0'.repeat(20)}`;
const OBJECT = { [sha256Of('an object')]: 'an object' };

async function missingIn(path: string): Promise<string[]> {
  const found = await verdicts([path]);
  expect(Object.keys(found).length, path).toBeGreaterThan(0);
  return Object.keys(found)
    .filter((each) => found[each] === 'missing')
    .map((each) => each.slice(each.lastIndexOf(path) + path.length + 1));
}

const PACKS = [
  ROOT.slice(0, -1),
  `${ROOT.slice(0, -1)} (1)`,
  `${ROOT.slice(0, -1).replace('pk', '\u0440k')} 2`,
];
const CASES = [
  `strongroom-case-${CASE}`,
  CASE,
  `Strongroom-Case-${CASE} - Copy`,
  `str\u043engroom-case-${CASE} (1)`,
];
const ARCHIVES = [
  'strongroom-archive',
  'strongroom-archive (1)',
  'Strongroom-Archive - Copy',
  '\uff53trongroom-archive 2',
  'strongr\u043e\u043em-archive',
];

test.each([
  [PACKS, ['pack.json']],
  [CASES, ['bagit.txt', 'seal.txt']],
  [ARCHIVES, ['bagit.txt', 'data/dump.jsonl']],
])('folders that are named as %j lack %j, whatever is in them', async (names, lacking) => {
  for (const name of names) {
    await mkdir(at(name));
    expect((await missingIn(name)).sort(), `${name}, empty`).toEqual(lacking);
    for (const [file, text] of Object.entries(OBJECT)) await writeFile(at(`${name}/${file}`), text);
    expect((await missingIn(name)).sort(), name).toEqual(lacking);
  }
  // In a folder that is walked, too.
  const found = Object.entries(await verdicts(['']));
  expect(found.filter(([, state]) => state === 'missing')).toHaveLength(names.length * lacking.length);
});

test('folders of other names need not be bags, also those with longer ones', async () => {
  for (const name of [
    'strongroom-archive-notes',
    'strongroom-archives',
    `${ROOT.slice(0, -1)}-notes`,
    'mine',
  ]) {
    for (const [file, text] of Object.entries(OBJECT)) await write({ [`${name}/${file}`]: text });
    expect(Object.values(await verdicts([name])), name).toEqual(['intact']);
  }
});

test('an extracted bag is verified as what its folder says, also in a folder of the same name', async () => {
  await write({ 'x.zip': VALID_PACK_FILE });
  const folder = `${ROOT.slice(0, -1)}.pack`;
  await extract(at('x.zip'), at(folder));
  const states = async () => new Set(Object.values(await verdicts([folder])));
  expect(await states()).toEqual(new Set(['intact']));
  // Another pack than the outer name says.
  const other = `pk_${'0'.repeat(20)}`;
  await rename(at(folder), at(other));
  expect(await missingIn(other)).toEqual(['pack.json']);
  await rename(at(other), at(folder));
  // What is beside the pack has lines of its own.
  await write({ [`${folder}/${folder}.zip`]: VALID_PACK_FILE, [`${folder}/.DS_Store`]: 'x' });
  const { [`${folder}/.DS_Store`]: stray, ...others } = await verdicts([folder]);
  expect([stray, ...new Set(Object.values(others))]).toEqual(['unknown', 'intact']);
  // A folder and a link of the name that hold no pack.
  await rm(at(`${folder}/${folder}.zip`));
  await rm(at(`${folder}/${ROOT}`), { recursive: true });
  await symlink(at('x.zip'), at(`${folder}/${folder}.zip`));
  expect(await missingIn(folder)).toEqual(['pack.json']);
  await mkdir(at(`${folder}/${ROOT}`));
  expect(await missingIn(folder)).toEqual([`${ROOT}pack.json`]);
});

test('a pack without its bag and without its files lacks them', async () => {
  await write({ 'x.zip': VALID_PACK_FILE });
  await extract(at('x.zip'), at(''));
  const folder = ROOT.slice(0, -1);
  for (const name of ['data', 'bagit.txt', 'manifest-sha256.txt'])
    await rm(at(ROOT + name), { recursive: true });
  expect(await missingIn(folder)).toContain('data/notes.txt');
});

test('a pack without its bag has no other tag file, and each has a line', async () => {
  await write({ 'x.zip': VALID_PACK_FILE });
  await extract(at('x.zip'), at(''));
  const folder = ROOT.slice(0, -1);
  const tagFiles = [
    'bag-info.txt',
    'manifest-sha256.txt',
    'ro-crate-metadata.json',
    'tagmanifest-sha256.txt',
  ];
  const all = [...tagFiles, 'manifest-md5.txt'];
  for (const name of ['bagit.txt', ...tagFiles]) await rm(at(ROOT + name));
  expect(new Set(Object.values(await verdicts([folder])))).toEqual(new Set(['intact']));
  for (const name of [...all, 'seal.txt']) {
    await write({ [ROOT + name]: 'Another story.\n' });
    expect(await verdicts([folder]), name).toMatchObject({
      [`${ROOT}bagit.txt`]: 'missing',
      [ROOT + name]: 'unknown',
      [`${ROOT}data/notes.txt`]: 'intact',
    });
    await rm(at(ROOT + name));
  }
  // What is of no bag makes it no bag.
  await write({ [`${ROOT}.DS_Store`]: 'x' });
  expect(await missingIn(folder)).toEqual([]);
  expect(await verdicts([folder])).toMatchObject({ [`${ROOT}.DS_Store`]: 'unknown' });
  await rm(at(`${ROOT}.DS_Store`));
  for (const name of all) await write({ [ROOT + name]: 'Another story.\n' });
  const found = await verdicts([folder]);
  expect(Object.keys(found).filter((path) => found[path] === 'unknown')).toEqual(
    all.map((name) => ROOT + name).sort(),
  );
});

test.each([
  ['bagit.txt', /^The ZIP holds files of a pack or a bag, but no bagit\.txt\./],
  // Nor in a pack without its bag is there any other file.
  [/(?:bagit|bag-info|manifest-sha256)\.txt$|crate-metadata\.json$/, /but no bagit\.txt/, '.DS_Store'],
  [/(?:bagit\.txt|\.json)$/, /but no bagit\.txt/],
])('a ZIP with a pack but for %s is unknown, and why is said', async (removed, said, added = '') => {
  const entries = entriesOf(Buffer.from(VALID_PACK_FILE)).filter(({ name }) => name.search(removed) < 0);
  const stray = added === '' ? [] : [{ name: ROOT + added, data: Buffer.from('x') }];
  await write({ 'x.zip': buildZip([...entries, ...stray]) });
  expect(await findings('x.zip')).toMatchObject([{ state: 'unknown', detail: expect.stringMatching(said) }]);
});

test('an exported archive whose tag files and objects were exchanged is not one', async () => {
  const node = await openTestNode();
  await node.close();
  await runHere(['export', '--data', node.dataFolder, '--out', at('archive.zip')]);
  await extract(at('archive.zip'), at(''));
  const folder = 'strongroom-archive';
  expect(new Set(Object.values(await verdicts([folder])))).toEqual(new Set(['intact']));
  for (const name of ['bagit.txt', 'bag-info.txt', 'manifest-sha256.txt', 'tagmanifest-sha256.txt'])
    await rm(at(`${folder}/${name}`));
  const [digest = '', text = ''] = Object.entries(OBJECT)[0] ?? [];
  await write({ [`${folder}/data/blobs/${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`]: text });
  expect(await missingIn(folder)).toEqual(['bagit.txt']);
  // A link is no dump.
  await rename(at(`${folder}/data/dump.jsonl`), at('dump.jsonl'));
  await symlink(at('dump.jsonl'), at(`${folder}/data/dump.jsonl`));
  expect(await verdicts([folder])).toMatchObject({
    [`${folder}/bagit.txt`]: 'missing',
    [`${folder}/data/dump.jsonl`]: 'unknown',
  });
});

const OTHER_BAG = {
  'bagit.txt': 'BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n',
  'manifest-sha256.txt': `${sha256Of('one')}  data/one.txt\n`,
  'data/one.txt': 'one',
};

test('a bag of other software that is named as an exported archive lacks its dump', async () => {
  for (const name of ARCHIVES) {
    for (const [path, text] of Object.entries(OTHER_BAG)) await write({ [`${name}/${path}`]: text });
    expect(await missingIn(name), name).toEqual(['data/dump.jsonl']);
    const zip = buildZip(
      Object.entries(OTHER_BAG).map(([path, data]) => ({ name: `b/${path}`, data: Buffer.from(data) })),
    );
    await write({ [`${name}.zip`]: zip, 'mine.zip': zip });
    expect(await missingIn(`${name}.zip`), name).toEqual(['data/dump.jsonl']);
  }
  expect(new Set(Object.values(await verdicts(['mine.zip'])))).toEqual(new Set(['intact']));
});

test('an archive is verified as one by the name of its ZIP', async () => {
  const node = await openTestNode();
  await node.close();
  await runHere(['export', '--data', node.dataFolder, '--out', at('archive.zip')]);
  const entries = entriesOf(await readFile(at('archive.zip'))).map(({ name, data }) => ({
    name: name.replace(/^[^/]+/, 'mine'),
    data: name.endsWith('/dump.jsonl') ? Buffer.from('no dump') : data,
  }));
  const manifest = entries.map((entry) =>
    entry.name === 'mine/manifest-sha256.txt'
      ? { ...entry, data: Buffer.from(`${sha256Of('no dump')}  data/dump.jsonl\n`) }
      : entry,
  );
  await write({
    'strongroom-archive (2).zip': buildZip(manifest.filter(({ name }) => !name.includes('/tagmanifest-'))),
  });
  expect(await verdicts(['strongroom-archive (2).zip'])).toMatchObject({
    'strongroom-archive (2).zip/data/dump.jsonl': 'changed',
  });
});

test('a copy lacks the file by which it is recognised', async () => {
  const node = await openTestNode();
  const checkpoint = await (await node.fetch('/api/ledger/checkpoint')).text();
  const object = { [`copy/archive/${sha256Of('a')}`]: 'a' };
  await write({ 'copy/checkpoint': checkpoint, ...object, 'other/checkpoint': checkpoint });
  expect(await missingIn('copy')).toEqual(['strongroom.json']);
  expect(await missingIn('other')).toEqual([]);
  await write({ 'copy/strongroom.json': '{}' });
  expect(await missingIn('copy')).toEqual([]);
});

test.each(['archive', 'records', 'state'])('a saved model with a folder %s is no copy', async (name) => {
  const model = 'model_checkpoint_path: "model.ckpt-1"\n';
  await write({ 'model/checkpoint': model, [`model/${name}/1`]: 'weights' });
  await write({ 'model/SHA256SUMS': lines({ checkpoint: model, [`${name}/1`]: 'weights' }).join('') });
  const found = await verdicts(['model']);
  expect(Object.values(found)).toEqual(['intact', 'intact']);
});

test('a folder in which nothing is found does not count as intact beside others', async () => {
  await write(OBJECT);
  await mkdir(at('empty/within'), { recursive: true });
  const found: Finding[] = [];
  for await (const batch of verifyPaths({ paths: [at(Object.keys(OBJECT)[0] ?? ''), at('empty')] }))
    found.push(...batch);
  expect(found.map(({ path, state, detail }) => [path, state, detail])).toEqual([
    [at('empty'), 'unknown', 'there is nothing to verify in it'],
    [at(Object.keys(OBJECT)[0] ?? ''), 'intact', null],
  ]);
});
