import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { addPack, type NewPack, type StagedBlob } from '../../server/archive/packs/addPack.ts';
import { verifyPack } from '../../server/archive/packs/comparePacks.ts';
import { listPacks } from '../../server/archive/packs/readPack.ts';
import { readHead } from '../../server/ledger/appendEntry.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { packsQuery } from '../../shared/archive/pack.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { filesOf, sampleRecord, sha256Of } from '../support/archive/packs.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

const FILES = { 'a.txt': 'first', 'b.txt': 'second', 'c.txt': 'third' };
const RECORD = sampleRecord({ title: 'Interrupted', files: filesOf(FILES) });
const LOST = new Error('The disk is gone.');

let open: Store | undefined;
afterEach(async () => {
  await open?.close();
  open = undefined;
  await closeTestNodes();
});

async function openAt(folder: string): Promise<Store> {
  open = await openStore({ folder, clock: systemClock });
  return open;
}

async function stageAll(store: Store): Promise<Map<string, StagedBlob>> {
  const staged = new Map<string, StagedBlob>();
  for (const [path, content] of Object.entries(FILES)) {
    staged.set(path, await store.blobs.staging.stage([Buffer.from(content)], 1_000));
  }
  return staged;
}

/** Stages the files in `tmp/`, as is done for large ones. */
async function stageInFiles(store: Store): Promise<StagedBlob[]> {
  const contents = Object.values(FILES).map((content) => Buffer.from(content));
  return Promise.all(contents.map((content) => store.blobs.staging.stageFile([content], 1_000)));
}

/** Makes one step of adding a pack fail. */
type Failure = (pack: NewPack, store: Store) => { pack: NewPack; store: Store };

const failingKeep =
  (path: string, isDone: boolean): Failure =>
  (pack, store) => {
    const changed = new Map(pack.staged);
    const blob = pack.staged?.get(path) as StagedBlob;
    const keep = async () => {
      if (isDone) await blob.keep();
      throw LOST;
    };
    changed.set(path, { ...blob, keep, discard: () => blob.discard() });
    return { pack: { ...pack, staged: changed }, store };
  };

const failingWrite =
  (isDone: boolean): Failure =>
  (pack, store) => {
    const write: Store['write'] = async (change) => {
      if (isDone) await store.write(change);
      throw LOST;
    };
    return { pack, store: { ...store, write } };
  };

const failingChange: Failure = (pack, store) => ({
  pack,
  store: {
    ...store,
    write: (change) =>
      store.write((database) => {
        change(database);
        throw LOST;
      }),
  },
});

/** The contents of the data folder after the next start. */
async function found(folder: string) {
  const store = await openAt(folder);
  const { total, texts } = listPacks(store, packsQuery.parse({}));
  const [text] = texts;
  const blobs = (await readdir(join(folder, 'blobs'), { recursive: true })).filter((name) =>
    /[0-9a-f]{64}$/.test(name),
  );
  return {
    packs: total,
    verified:
      text === undefined ? undefined : (await verifyPack(store, (JSON.parse(text) as { id: string }).id)).ok,
    entries: readHead(store.read).seq,
    temporary: await readdir(join(folder, 'tmp')),
    blobs: blobs.map((name) => name.slice(-64)).sort(),
  };
}

const NOTHING = { packs: 0, verified: undefined, entries: 0, temporary: [], blobs: [] };
const ALL = {
  packs: 1,
  verified: true,
  entries: 1,
  temporary: [],
  blobs: Object.values(FILES).map(sha256Of).sort(),
};

describe('a pack is stored completely or not at all if', () => {
  test.each([
    ['the first rename fails', failingKeep('a.txt', false), NOTHING],
    ['the last rename fails', failingKeep('c.txt', false), NOTHING],
    ['a rename is reported as failed although it was done', failingKeep('b.txt', true), NOTHING],
    ['the change throws after it wrote its rows', failingChange, NOTHING],
    ['the commit fails', failingWrite(false), NOTHING],
    ['the commit is reported as failed although it was done', failingWrite(true), ALL],
  ])('%s', async (_name, failure, expected) => {
    const folder = await temporaryFolder();
    const store = await openAt(folder);
    const failing = failure({ record: RECORD, staged: await stageAll(store) }, store);
    await expect(addPack(failing.store, failing.pack)).rejects.toBe(LOST);
    expect(await readdir(join(folder, 'tmp'))).toEqual([]);
    expect(listPacks(store, packsQuery.parse({})).total).toBe(expected.packs);
    await store.close();
    expect(await found(folder)).toEqual(expected);

    // Sending the pack again completes it in any case.
    const again = open as Store;
    const { created } = await addPack(again, { record: RECORD, staged: await stageAll(again) });
    expect(created).toBe(expected.packs === 0);
    await again.close();
    expect(await found(folder)).toEqual(ALL);
  });

  test('the upload breaks off while it is staged', async () => {
    const folder = await temporaryFolder();
    const store = await openAt(folder);
    const cut = (async function* () {
      yield Buffer.from('half');
      throw LOST;
    })();
    await expect(store.blobs.staging.stage(cut, 1_000)).rejects.toBe(LOST);
    expect(await readdir(join(folder, 'tmp'))).toEqual([]);
    await store.close();
    expect(await found(folder)).toEqual(NOTHING);
  });

  test('a crash leaves staged and kept files, which the next start removes', async () => {
    const folder = await temporaryFolder();
    const store = await openAt(folder);
    const [first] = await stageInFiles(store);
    await first?.keep();
    const marker = `keeping-${sha256Of(FILES['a.txt'])}`;
    expect((await readdir(join(folder, 'tmp'))).sort()).toEqual([
      expect.stringMatching(/^\d+$/),
      expect.stringMatching(/^\d+$/),
      marker,
    ]);
    await store.close();
    expect(await found(folder)).toEqual(NOTHING);
  });
});

test('a refusal discards the staged blobs and keeps those of other packs', async () => {
  const folder = await temporaryFolder();
  const store = await openAt(folder);
  await addPack(store, { record: RECORD, staged: await stageAll(store) });
  for (const changes of [{ title: '' }, { node: 'nowhere' }, { files: filesOf({ 'a.txt': 'other' }) }]) {
    await expect(
      addPack(store, { record: { ...RECORD, ...changes }, staged: await stageAll(store) }),
    ).rejects.toThrow();
    expect(await readdir(join(folder, 'tmp'))).toEqual([]);
  }
  await store.close();
  expect(await found(folder)).toEqual(ALL);
});
