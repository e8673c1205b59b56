import { cp, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { BlobJournal } from '../../server/store/blobs/journal.ts';
import { blobsIn } from '../../server/store/blobs/journalRecords.ts';
import { blobPath } from '../../server/store/blobs/paths.ts';
import { ShardFolders } from '../../server/store/blobs/shardFolders.ts';
import { createBlobRowIfAbsent } from '../../server/store/sqlite/node/blobs.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { systemClock } from '../../shared/clock.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { sha256Of } from '../support/packs.ts';

const open: Store[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
  await closeTestNodes();
});

async function openAt(folder: string): Promise<Store> {
  const store = await openStore({ folder, clock: systemClock });
  open.push(store);
  return store;
}

const TEXTS = ['one', 'two', 'three', 'four'];

/** Keeps small blobs by way of the journal and names each in a row, as a collection does. */
async function keepAll(store: Store, texts: readonly string[]): Promise<void> {
  await Promise.all(
    texts.map(async (text) => {
      const staged = await store.blobs.stage([Buffer.from(text)], 1_000);
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

/** What lies under the digest of a text, or undefined. */
function stored(store: Store, text: string): Promise<string | undefined> {
  return readFile(store.blobs.fileOf(sha256Of(text)), 'utf8').catch(() => undefined);
}

/** The data folder as a power cut would leave it while a node runs: what is there now, copied. */
async function cutPower(store: Store): Promise<string> {
  const folder = await temporaryFolder();
  await cp(store.folder, folder, { recursive: true, filter: (file) => !file.endsWith('lock') });
  return folder;
}

test('a blob is in the journal when it is kept, has its file at once, and leaves the journal at the end', async () => {
  const store = await openAt(await temporaryFolder());
  await keepAll(store, TEXTS);
  const journaled = (await journalOf(store.folder)).flatMap((file) => [...blobsIn(file)]);
  expect(journaled.map(({ bytes }) => Buffer.from(bytes).toString()).sort()).toEqual(TEXTS.toSorted());
  for (const text of TEXTS) expect(await stored(store, text)).toBe(text);
  expect(await readdir(join(store.folder, 'tmp'))).toEqual([]);
  await store.close();
  open.length = 0;
  expect(await journalOf(store.folder)).toEqual([]);
});

test('files that a power cut took, or took some of, are made good from the journal by the next start', async () => {
  const running = await openAt(await temporaryFolder());
  await keepAll(running, TEXTS);
  const folder = await cutPower(running);
  const [one, two, three] = TEXTS.map((text) =>
    running.blobs.fileOf(sha256Of(text)).replace(running.folder, folder),
  );
  await rm(dirname(one ?? ''), { recursive: true });
  await truncate(two ?? '', 0);
  await writeFile(three ?? '', '\0'.repeat('three'.length));
  const store = await openAt(folder);
  for (const text of TEXTS) expect(await stored(store, text)).toBe(text);
  expect(await journalOf(folder)).toEqual([]);
  expect(await readdir(join(folder, 'tmp'))).toEqual([]);
});

test('what was being written to the journal when the power went is left out, and what came before it is not', async () => {
  const running = await openAt(await temporaryFolder());
  await keepAll(running, TEXTS);
  const folder = await cutPower(running);
  const [name = ''] = await readdir(join(folder, 'journal'));
  const file = join(folder, 'journal', name);
  await writeFile(file, `${sha256Of('five')} 4\nfi`, { flag: 'a' });
  await rm(join(folder, 'blobs'), { recursive: true });
  const store = await openAt(folder);
  for (const text of TEXTS) expect(await stored(store, text)).toBe(text);
  expect(await stored(store, 'five')).toBeUndefined();
});

test('a blob of the journal that no row names is not brought back', async () => {
  const running = await openAt(await temporaryFolder());
  const staged = await running.blobs.stage([Buffer.from('nobody’s')], 1_000);
  await staged.keep('journal');
  const store = await openAt(await cutPower(running));
  expect(await stored(store, 'nobody’s')).toBeUndefined();
  expect(await journalOf(store.folder)).toEqual([]);
});

test('a blob whose file cannot be made is refused, and those beside it are kept', async () => {
  const store = await openAt(await temporaryFolder());
  const shard = dirname(store.blobs.fileOf(sha256Of('two')));
  await mkdir(dirname(shard), { recursive: true });
  await writeFile(shard, 'in the way');
  const outcomes = await Promise.allSettled(TEXTS.map((text) => keepAll(store, [text])));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  expect(await readdir(join(store.folder, 'tmp'))).toEqual([]);
});

test.each([
  ['bytes that were changed', (file: Buffer) => file.fill('x', file.length - 2)],
  [
    'a length that is more than there is',
    (file: Buffer) => Buffer.from(file.toString().replace(' 3\n', ' 9\n')),
  ],
  ['a line that is none', (file: Buffer) => Buffer.concat([Buffer.from('nothing known'), file])],
  ['nothing', () => Buffer.alloc(0)],
])('a journal’s file of %s gives no blob', (_what, change) => {
  const whole = Buffer.from(`${sha256Of('one')} 3\none`);
  expect([...blobsIn(whole)]).toHaveLength(1);
  expect([...blobsIn(change(whole))]).toEqual([]);
});

test('files that once could not be synced are written anew from the journal, for a later sync may tell nothing', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'tmp'));
  const journal = new BlobJournal(folder, new ShardFolders());
  const bytes = Buffer.from('one');
  const sha256 = sha256Of('one');
  const target = blobPath(folder, sha256);
  expect(await journal.keep([{ sha256, bytes, file: join(folder, 'tmp', 'one'), target }])).toEqual([
    undefined,
  ]);
  // What cannot be synced: something else stands in the file's place.
  await rm(target);
  await mkdir(target);
  await expect(journal.settle(0)).rejects.toThrow('EISDIR');
  expect([...blobsIn(Buffer.concat(await journalOf(folder)))].map((blob) => blob.sha256)).toEqual([sha256]);
  await rm(target, { recursive: true });
  await journal.settle(0);
  expect(await readFile(target, 'utf8')).toBe('one');
  expect(await journalOf(folder)).toEqual([]);
});
