import { cp, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { BlobJournal } from '../../server/store/blobs/journal.ts';
import { parseJournal } from '../../server/store/blobs/journalRecords.ts';
import { blobPath } from '../../server/store/blobs/paths.ts';
import { ShardFolders } from '../../server/store/blobs/shardFolders.ts';
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

/** Stores small blobs through the journal and inserts their rows, as a collection does. */
async function keepAll(store: Store, texts: readonly string[]): Promise<void> {
  await Promise.all(
    texts.map(async (text) => {
      const staged = await store.blobs.staging.stage([Buffer.from(text)], 1_000);
      await staged.keep('journal');
      const row = { sha256: staged.sha256, bytes: staged.bytes, stored_at: store.instant() };
      await store.write((database) => createBlobRowIfAbsent(database, row));
    }),
  );
}

async function journalOf(folder: string): Promise<Buffer[]> {
  const names = (await readdir(join(folder, 'journal'))).sort();
  return Promise.all(names.map((name) => readFile(join(folder, 'journal', name))));
}

/** Reads the blob of a text; undefined if there is none. */
function stored(store: Store, text: string): Promise<string | undefined> {
  return readFile(store.blobs.fileOf(sha256Of(text)), 'utf8').catch(() => undefined);
}

/** Copies the data folder of a running node, as a power cut would leave it. */
async function cutPower(store: Store): Promise<string> {
  const folder = await temporaryFolder();
  await cp(store.folder, folder, { recursive: true, filter: (file) => !file.endsWith('lock') });
  return folder;
}

test('a kept blob is in the journal and has its own file; closing the store empties the journal', async () => {
  const store = await openTestStore(await temporaryFolder());
  await keepAll(store, TEXTS);
  const journaled = (await journalOf(store.folder)).flatMap((file) => [...parseJournal(file)]);
  expect(journaled.map(({ bytes }) => Buffer.from(bytes).toString()).sort()).toEqual(TEXTS.toSorted());
  for (const text of TEXTS) expect(await stored(store, text)).toBe(text);
  expect(await readdir(join(store.folder, 'tmp'))).toEqual([]);
  await closeTestStores();
  expect(await journalOf(store.folder)).toEqual([]);
});

test('the next start restores files that a power cut lost or cut short from the journal', async () => {
  const running = await openTestStore(await temporaryFolder());
  await keepAll(running, TEXTS);
  const folder = await cutPower(running);
  const [one, two, three] = TEXTS.map((text) =>
    running.blobs.fileOf(sha256Of(text)).replace(running.folder, folder),
  );
  await rm(dirname(one ?? ''), { recursive: true });
  await truncate(two ?? '', 0);
  await writeFile(three ?? '', '\0'.repeat('three'.length));
  const store = await openTestStore(folder);
  for (const text of TEXTS) expect(await stored(store, text)).toBe(text);
  expect(await journalOf(folder)).toEqual([]);
  expect(await readdir(join(folder, 'tmp'))).toEqual([]);
});

test('recovery ignores an incomplete record at the end of the journal and restores the blobs before it', async () => {
  const running = await openTestStore(await temporaryFolder());
  await keepAll(running, TEXTS);
  const folder = await cutPower(running);
  const [name = ''] = await readdir(join(folder, 'journal'));
  const file = join(folder, 'journal', name);
  await writeFile(file, `${sha256Of('five')} 4\nfi`, { flag: 'a' });
  await rm(join(folder, 'blobs'), { recursive: true });
  const store = await openTestStore(folder);
  for (const text of TEXTS) expect(await stored(store, text)).toBe(text);
  expect(await stored(store, 'five')).toBeUndefined();
});

test('recovery does not restore a journaled blob that no row references', async () => {
  const running = await openTestStore(await temporaryFolder());
  const staged = await running.blobs.staging.stage([Buffer.from('unreferenced')], 1_000);
  await staged.keep('journal');
  const store = await openTestStore(await cutPower(running));
  expect(await stored(store, 'unreferenced')).toBeUndefined();
  expect(await journalOf(store.folder)).toEqual([]);
});

test('a blob whose file cannot be created is refused; the others of its batch are kept', async () => {
  const store = await openTestStore(await temporaryFolder());
  const shard = dirname(store.blobs.fileOf(sha256Of('two')));
  await mkdir(dirname(shard), { recursive: true });
  await writeFile(shard, 'in the way');
  const outcomes = await Promise.allSettled(TEXTS.map((text) => keepAll(store, [text])));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  expect(await readdir(join(store.folder, 'tmp'))).toEqual([]);
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

test('files whose sync failed are rewritten from the journal, because a later sync may not report the loss', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'tmp'));
  const journal = new BlobJournal(folder, new ShardFolders());
  const bytes = Buffer.from('one');
  const sha256 = sha256Of('one');
  const target = blobPath(folder, sha256);
  expect(await journal.append([{ sha256, bytes, file: join(folder, 'tmp', 'one'), target }])).toEqual([
    undefined,
  ]);
  // A folder in place of the file makes the sync fail.
  await rm(target);
  await mkdir(target);
  await expect(journal.flush(0)).rejects.toThrow('EISDIR');
  expect([...parseJournal(Buffer.concat(await journalOf(folder)))].map((blob) => blob.sha256)).toEqual([
    sha256,
  ]);
  await rm(target, { recursive: true });
  await journal.flush(0);
  expect(await readFile(target, 'utf8')).toBe('one');
  expect(await journalOf(folder)).toEqual([]);
});
