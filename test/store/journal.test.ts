import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { BlobStore } from '../../server/store/blobs/blobStore.ts';
import { parseJournal } from '../../server/store/blobs/blobWrites.ts';
import { blobPath } from '../../server/store/files.ts';
import { createBlobRowIfAbsent } from '../../server/store/sqlite/node/blobs.ts';
import type { Store } from '../../server/store/store.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { closeTestStores, openTestStore } from '../support/store.ts';

afterEach(async () => {
  await closeTestStores();
  await closeTestNodes();
});

const TEXTS = ['one', 'two', 'three', 'four'];

/** Writes a file of the journal, as earlier versions did. */
async function writeJournal(folder: string, texts: readonly string[], end = ''): Promise<void> {
  await mkdir(join(folder, 'journal'), { recursive: true });
  const records = texts.map((text) => `${sha256Of(text)} ${text.length}\n${text}`);
  await writeFile(join(folder, 'journal', '1700000000000-1'), records.join('') + end);
}

/** Returns a closed folder whose database names these texts and which has none of their files. */
async function folderNaming(texts: readonly string[]): Promise<string> {
  const store = await openTestStore(await temporaryFolder());
  for (const text of texts) {
    const row = { sha256: sha256Of(text), bytes: text.length, stored_at: store.instant() };
    await store.write((database) => createBlobRowIfAbsent(database, row));
  }
  await closeTestStores();
  return store.folder;
}

/** Reads the blob of a text; undefined if there is none. */
function stored(store: Store, text: string): Promise<string | undefined> {
  return readFile(store.blobs.fileOf(sha256Of(text)), 'utf8').catch(() => undefined);
}

test('the journal of an earlier version restores files that a power cut lost or cut short, and is removed', async () => {
  const folder = await folderNaming(TEXTS);
  await writeJournal(folder, TEXTS);
  const [, two = '', three = ''] = TEXTS.map((text) => blobPath(folder, sha256Of(text)));
  for (const [file, left] of [
    [two, ''],
    [three, '\0'.repeat('three'.length)],
  ] as const) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, left);
  }
  const store = await openTestStore(folder);
  for (const text of TEXTS) expect(await stored(store, text)).toBe(text);
  expect(await readdir(join(folder, 'tmp'))).toEqual([]);
  expect(await readdir(folder)).not.toContain('journal');
});

test('recovery ignores an incomplete record at the end of the journal and restores the blobs before it', async () => {
  const folder = await folderNaming([...TEXTS, 'five']);
  await writeJournal(folder, TEXTS, `${sha256Of('five')} 4\nfi`);
  const store = await openTestStore(folder);
  for (const text of TEXTS) expect(await stored(store, text)).toBe(text);
  expect(await stored(store, 'five')).toBeUndefined();
});

test('recovery deletes the file of a journaled blob that no row references', async () => {
  const folder = await folderNaming([]);
  await writeJournal(folder, ['unreferenced']);
  const file = blobPath(folder, sha256Of('unreferenced'));
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, 'unref');
  const store = await openTestStore(folder);
  expect(await stored(store, 'unreferenced')).toBeUndefined();
});

test('recovery moves a journaled blob to lost-and-found, complete, if acknowledged rows may be missing', async () => {
  const folder = await folderNaming([]);
  await writeJournal(folder, ['unreferenced']);
  await new BlobStore(folder).recover(() => false, { mayDelete: false, hasSpace: () => true });
  const sha256 = sha256Of('unreferenced');
  expect(await readFile(join(folder, 'lost-and-found', sha256), 'utf8')).toBe('unreferenced');
});

test('recovery keeps the journal while the disk has no space, and ends it at the next start', async () => {
  const folder = await folderNaming(TEXTS);
  await writeJournal(folder, TEXTS);
  await new BlobStore(folder).recover(() => true, { mayDelete: true, hasSpace: () => false });
  expect(await readdir(join(folder, 'journal'))).toHaveLength(1);
  const store = await openTestStore(folder);
  for (const text of TEXTS) expect(await stored(store, text)).toBe(text);
});

test.each([
  ['changed bytes', (file: Buffer) => file.fill('x', file.length - 2)],
  ['a length beyond its end', (file: Buffer) => Buffer.from(file.toString().replace(' 3\n', ' 9\n'))],
  ['a malformed line', (file: Buffer) => Buffer.concat([Buffer.from('nothing known'), file])],
  ['no bytes', () => Buffer.alloc(0)],
])('a journal file with %s yields no blob', (_what, change) => {
  const whole = Buffer.from(`${sha256Of('one')} 3\none`);
  expect([...parseJournal(whole)]).toHaveLength(1);
  expect([...parseJournal(change(whole))]).toEqual([]);
});
