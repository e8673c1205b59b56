import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { verifyBagFile } from '../../renderer/src/pages/verify/bagFile.ts';
import { type Entry, entriesOf, zipped } from '../forger/zip.ts';
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
