import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { verifyBagFile } from '../../renderer/src/pages/verify/bagFile.ts';
import { type Entry, entriesOf, withManifests, zipped } from '../forger/zip.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { extract } from '../support/extract.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

/* Packs that other programs extracted and zipped again, for the command and for the page *Verify*. */

afterEach(closeTestNodes);

/** Returns the id of a pack whose data has a bag and a name with an accent, and the entries of its pack file. */
async function packWithBag(): Promise<{ id: string; entries: Entry[] }> {
  const node = await openTestNode();
  const { id } = await uploadNewPack(node, undefined, {
    'é.txt': 'one',
    'bag/bagit.txt': 'two',
    'bag/manifest-sha256.txt': `${'0'.repeat(64)}  data/x\n`,
  });
  const file = await node.fetch(`/api/packs/${id}/file`);
  return { id, entries: entriesOf(Buffer.from(await file.arrayBuffer())) };
}

async function verified(entries: readonly Entry[], name: string) {
  const { bytes } = zipped(entries);
  const file = join(await temporaryFolder(), name);
  await writeFile(file, bytes);
  const rows = await verifyBagFile(new File([new Uint8Array(bytes)], name), []);
  const isWrong = ({ sha256, expected, fault }: NonNullable<typeof rows>[number]) =>
    fault !== null || sha256 === null || (expected !== null && expected !== sha256);
  return { file, command: await runHere(['verify', file]), rows, wrong: rows?.filter(isWrong) };
}

const DECOMPOSED = (entries: readonly Entry[]) =>
  entries.map((entry) => ({ ...entry, name: entry.name.normalize('NFD') }));
const SORTED = (entries: readonly Entry[]) =>
  [...entries].sort((one, other) => (one.name < other.name ? -1 : 1));

test.each([
  ['in alphabetical order', SORTED],
  ['with its names decomposed', DECOMPOSED],
])('a pack that is zipped again %s is intact', async (_, changed) => {
  const { id, entries } = await packWithBag();
  for (const name of [`${id}.pack.zip`, `${id}.zip`]) {
    const { file, command, wrong } = await verified(changed(entries), name);
    expect(command.stdout, name).toContain('Everything is intact: 8 files.');
    expect(command.code).toBe(0);
    expect(wrong, name).toEqual([]);
    const folder = join(await temporaryFolder(), 'extracted');
    await extract(file, folder);
    expect(await runHere(['verify', join(folder, id)]), name).toMatchObject({ code: 0 });
  }
});

test('a file that has the name of another one, decomposed, is not in the record', async () => {
  const { id, entries } = await packWithBag();
  const other = { name: `${id}/data/é.txt`.normalize('NFD'), data: Buffer.from('three') };
  const { command, wrong } = await verified([...entries, other], `${id}.zip`);
  expect(command.code).toBe(1);
  expect(command.stdout).toContain('8 intact, 0 changed, 0 missing, 1 unknown.');
  expect(wrong).toMatchObject([{ path: other.name }]);
});

test.each(['pack.zip', 'zip'])(
  'what the Finder adds to a .%s is named, and nothing is called changed',
  async (ending) => {
    const { id, entries } = await packWithBag();
    const added = { name: `__MACOSX/._${id}`, data: Buffer.from([0, 5, 22, 7]) };
    const { command, wrong } = await verified([...entries, added], `${id}.${ending}`);
    expect(command.code).toBe(1);
    expect(command.stdout).toContain('8 intact, 0 changed, 0 missing, 1 unknown.');
    expect(wrong).toMatchObject([{ path: added.name }]);
  },
);

test('of what only describes a pack, the page says that the record counts', async () => {
  const { id, entries } = await packWithBag();
  const { rows } = await verified(entries, `${id}.pack.zip`);
  for (const name of ['bag-info.txt', 'ro-crate-metadata.json'])
    expect(rows?.find(({ path }) => path === `${id}/${name}`)?.proof?.words).toContain(
      'the record is what counts',
    );
});

test.each([
  ['with a folder above its own', (entries: readonly Entry[]) => inFolder('Downloads', entries)],
  ['beside another one', (entries: readonly Entry[]) => [...entries, ...inOther(entries)]],
])('the page finds a bag in a ZIP where the command does, not %s', async (_, changed) => {
  const { entries } = await packWithBag();
  const { command, rows } = await verified(changed(entries), 'mine.zip');
  expect(command.code).toBe(1);
  expect(command.stdout).toContain('0 intact, 0 changed, 0 missing, 1 unknown.');
  expect(rows).toBeUndefined();
});

test('a bag at the top of a ZIP may have one among its data', async () => {
  const node = await openTestNode();
  const { id } = await uploadNewPack(node, undefined, {
    'bagit.txt': 'two',
    'manifest-sha256.txt': `${'0'.repeat(64)}  data/x\n`,
  });
  const file = await node.fetch(`/api/packs/${id}/file`);
  const entries = entriesOf(Buffer.from(await file.arrayBuffer()));
  const atTop = entries.map((each) => ({ ...each, name: each.name.slice(id.length + 1) }));
  for (const name of [`${id}.pack.zip`, `${id}.zip`]) {
    const { command, rows, wrong } = await verified(SORTED(atTop), name);
    expect(command.stdout, name).toContain('Everything is intact: 7 files.');
    expect([rows?.length, wrong], name).toEqual([7, []]);
    const changed = atTop.map((each) =>
      each.name === 'data/bagit.txt' ? { ...each, data: Buffer.from('six') } : each,
    );
    const forged = await verified(changed, name);
    expect([forged.command.code, forged.wrong?.length], name).toEqual([1, 1]);
  }
});

const inFolder = (folder: string, entries: readonly Entry[]) =>
  entries.map((entry) => ({ ...entry, name: `${folder}/${entry.name}` }));
const inOther = (entries: readonly Entry[]) =>
  entries.map((entry) => ({ ...entry, name: entry.name.replace(/^[^/]+/, 'other') }));

/** How a file of the Finder begins. */
const APPLE_DOUBLE = Buffer.from([0, 5, 22, 7, 0, 2, 0, 0]);

test.each([
  ['__MACOSX/._datapackage.json', APPLE_DOUBLE, 'unknown'],
  ['archive/.DS_Store', Buffer.from('\0\0\0\x01Bud1', 'latin1'), 'unknown'],
  ['desktop.ini', Buffer.from('[.ShellClassInfo]\r\n'), 'unknown'],
  ['.DS_Store', Buffer.from('We will resign.'), 'changed'],
  ['__MACOSX/note.txt', Buffer.from('We will resign.'), 'changed'],
  ['__MACOSX/._index.html', Buffer.concat([APPLE_DOUBLE, Buffer.from('<p>We will resign.')]), 'changed'],
  ['note.txt', APPLE_DOUBLE, 'changed'],
])(
  'a WACZ package to which %s was added is altered, unless it looks as if a system added it',
  async (name, data, state) => {
    const genuine = entriesOf(await readFile('test/fixtures/1.0/archive.wacz'));
    const file = join(await temporaryFolder(), 'archive.wacz');
    await writeFile(file, zipped([...genuine]).bytes);
    expect(await runHere(['verify', file])).toMatchObject({ code: 0 });
    await writeFile(file, zipped([...genuine, { name, data }]).bytes);
    const { code, stdout } = await runHere(['verify', file]);
    expect(code).toBe(1);
    expect(stdout).toContain(`No digest covers "${name}"`);
    expect(stdout).toContain(`1 ${state}`);
  },
);

test('a WACZ package with another file beside what a system adds is altered', async () => {
  const genuine = entriesOf(await readFile('test/fixtures/1.0/archive.wacz'));
  const file = join(await temporaryFolder(), 'archive.wacz');
  const added = [
    { name: '__MACOSX/._datapackage.json', data: APPLE_DOUBLE },
    { name: 'note.txt', data: Buffer.from('We will resign.') },
  ];
  await writeFile(file, zipped([...genuine, ...added]).bytes);
  const { stdout } = await runHere(['verify', file]);
  expect(stdout).toContain('No digest covers "note.txt".');
  expect(stdout).toContain('1 changed');
});

test.each([
  ['a file beside the folder of the pack', (_: string) => 'README.md'],
  ['a file in it', (id: string) => `${id}/README.md`],
  ['a folder in it', (id: string) => `${id}/metadata/mods.xml`],
  ['a list of files to fetch', (id: string) => `${id}/fetch.txt`],
  ['a manifest of another kind', (id: string) => `${id}/manifest-crc32.txt`],
  ['a second folder of data', (id: string) => `${id}/Data/b.txt`],
])('a pack with %s is not intact, whatever its name and its lists', async (_, nameOf) => {
  const { id, entries } = await packWithBag();
  const added = { name: nameOf(id), data: Buffer.from('0'.repeat(8)) };
  for (const forged of [[...entries, added], withManifests([...entries, added])])
    for (const name of [`${id}.pack.zip`, `${id}.zip`]) {
      const { command, wrong } = await verified(forged, name);
      expect([command.code, wrong?.length], `${name}: ${command.stdout}`).toEqual([1, 1]);
    }
});
