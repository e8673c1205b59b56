import { execFileSync } from 'node:child_process';
import { appendFile, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, test } from 'vitest';
import { TileDigests } from '../../server/copies/verifyCopy.ts';
import { nodeKeyOf, privateKeyOfSeed, signNote } from '../../server/ledger/checkpoint.ts';
import type { Copy, CopyCheck } from '../../shared/node/copy.ts';
import { linesOf, parseLines } from '../../shared/proof/ledger/fileList.ts';
import { noteBody } from '../../shared/proof/ledger/signedNote.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { addEntries } from './manyEntries.ts';
import { usePreparedCopy } from './preparedCopy.ts';

const prepared = usePreparedCopy();
let place: string;
let node: TestNode;
let copy: Copy;
const inPlace = (path: string) => join(place, path);

/** A copy of one entry and two objects. Its node is closed: not all tests need it. */
beforeEach(async () => {
  place = prepared.place;
  await prepared.begin('copied', async () => {
    node = await openTestNode({ dataFolder: prepared.data });
    await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one', 'b.txt': 'two' });
    const added = await node.sendJson('POST', '/manage/copies', { target: pathToFileURL(place).href });
    copy = (await added.json()) as Copy;
    await sync();
    return node;
  });
});

async function openNode(): Promise<void> {
  node = await openTestNode({ dataFolder: prepared.data });
}

async function sync(): Promise<void> {
  const answer = await node.fetchAsOwner(`/manage/copies/${copy.id}/sync?wait=true`, { method: 'POST' });
  expect(answer.status, await answer.clone().text()).toBe(200);
}

async function check(): Promise<CopyCheck> {
  const answer = await node.sendJson('POST', `/manage/copies/${copy.id}/check?wait=true`, {});
  expect(answer.status, await answer.clone().text()).toBe(200);
  return (await answer.json()) as CopyCheck;
}

async function verified(): Promise<unknown> {
  const { code, stdout } = await runHere(['verify', place, '--json']);
  const found = JSON.parse(stdout) as { ok: boolean };
  expect([code, found.ok]).toEqual(found.ok ? [0, true] : [1, false]);
  return found;
}

async function objects(): Promise<string[]> {
  return (await readdir(inPlace('archive'))).filter((name) => /^[0-9a-f]{64}$/.test(name)).sort();
}

describe('verify', () => {
  test('names tiles that are damaged or missing', async () => {
    expect(await verified()).toMatchObject({ ok: true, damaged: [], missing: [] });
    await writeFile(inPlace('tile/0/000.p/1'), 'x'.repeat(32));
    await rm(inPlace('tile/entries/000.p/1'));
    expect(await verified()).toMatchObject({
      damaged: ['tile/0/000.p/1'],
      missing: ['tile/entries/000.p/1'],
    });
  });

  test.each([
    ['checkpoint', (text: string) => text.replace('\n1\n', '\n2\n')],
    ['checkpoint', () => 'no checkpoint'],
    ['checkpoint', () => 'x'.repeat(100_000)],
    ['state/1.jsonl', undefined],
    ['records/1-1.jsonl', undefined],
    ['records/1-1.jsonl', (text: string) => `${text}{"kind":"other"}\n`],
    ['records/1-1.jsonl', (text: string) => `${text}${text.split('\n')[0]}\n`],
  ] as const)('fails, with a sentence, if %s is missing or altered (%#)', async (path, altered) => {
    const file = inPlace(path);
    if (altered) await writeFile(file, altered(await readFile(file, 'utf8')));
    else await rm(file);
    expect(await verified()).toMatchObject({ ok: false, sentence: expect.any(String) as string });
    const restored = join(await temporaryFolder(), 'restored');
    expect(await runHere(['restore', place, '--data', restored])).toMatchObject({ code: 2 });
  });

  test('needs no memory for a size that only the checkpoint claims', async () => {
    const claimed = 10 ** 15 - 1;
    const note = (await readFile(inPlace('checkpoint'), 'utf8')).replace('\n1\n', `\n${claimed}\n`);
    const state = await readFile(inPlace('state/1.jsonl'), 'utf8');
    await writeFile(inPlace('checkpoint'), note);
    await writeFile(inPlace(`state/${claimed}.jsonl`), state.replace('\\n1\\n', `\\n${claimed}\\n`));
    expect(await verified()).toMatchObject({
      sentence: expect.stringContaining('records/1-1000.jsonl is missing') as string,
    });
  });
});

describe('restore', () => {
  const restore = async (...words: string[]) =>
    runHere(['restore', place, '--data', join(await temporaryFolder(), 'restored'), ...words]);
  const restoredJson = async () => {
    const { code, stdout } = await restore('--json');
    return { code, said: JSON.parse(stdout) as object };
  };
  const isSaid = 'no signature covers the sources, the rounds and the cases';
  const otherTime = (text: string) => text.replace(/"made_at":"\d{4}/, '"made_at":"1999');

  test('restores a file that is not as the signed list says, names it, and exits with 1', async () => {
    expect(await restoredJson()).toMatchObject({
      code: 0,
      said: { ok: true, list: 'valid', uncovered: [] },
    });
    const state = inPlace('state/1.jsonl');
    await writeFile(state, otherTime(await readFile(state, 'utf8')));
    expect(await restoredJson()).toMatchObject({
      code: 1,
      said: { ok: false, list: 'valid', uncovered: ['state/1.jsonl'], objects: 2, missing: [] },
    });
    const { code, stdout, stderr } = await restore();
    expect([code, stdout]).toEqual([1, expect.stringContaining('was restored: 1 entry, 2 objects')]);
    expect(stderr).toContain('state/1.jsonl: not as the signed list of the copy says.\n');
    expect(stderr).toContain(`1 file in ${place} differs from the signed list: ${isSaid}`);
  });

  test('restores a copy of an earlier version, without a list, and says that nothing signed covers it', async () => {
    await rm(inPlace('files'), { recursive: true });
    const { code, stdout, stderr } = await restore();
    expect([code, stdout]).toEqual([3, expect.stringContaining('was restored: 1 entry, 2 objects')]);
    expect(stderr).toContain(`has no signed list of its files: ${isSaid}`);
    expect(await restoredJson()).toMatchObject({ code: 3, said: { ok: false, list: 'missing' } });
    await rm(inPlace('archive'), { recursive: true });
    expect(await restore()).toMatchObject({ code: 1 });
  });

  test.each([
    ['nothing', () => ''],
    ['another list', (text: string) => text.replace(/ \d+\n/, ' 9\n')],
    ['the list of another checkpoint', (text: string) => text.replace('list 1 ', 'list 0 ')],
    ['a list without its signature', (text: string) => text.slice(0, text.lastIndexOf('\n\n') + 2)],
    ['what no memory holds', () => 'x'.repeat(70_000_000)],
  ])('restores beside %s, and says that it covers nothing', async (_, to) => {
    const list = inPlace('files/list');
    await writeFile(list, to(await readFile(list, 'utf8')));
    const { code, stdout, stderr } = await restore();
    expect([code, stdout]).toEqual([1, expect.stringContaining('was restored: 1 entry, 2 objects')]);
    expect(stderr).toContain(`is not the one that the key signed for its checkpoint: ${isSaid}`);
    expect(await restoredJson()).toMatchObject({ code: 1, said: { ok: false, list: 'invalid' } });
  });

  test('says of a part of the list that is missing which files it does not cover', async () => {
    const [, part = ''] = /(files\/[0-9a-f]{64})/.exec(await readFile(inPlace('files/list'), 'utf8')) ?? [];
    await rm(inPlace(part));
    expect(await restoredJson()).toMatchObject({
      code: 1,
      said: { list: 'valid', uncovered: ['records/1-1.jsonl', 'state/1.jsonl'] },
    });
  });

  /**
   * A stranger with a key of the same name signs the checkpoint beside the node, and a list of his own that has the files
   * as they are now. `hide` writes the header of the state another way.
   */
  async function forgeList(hide: (state: string) => string): Promise<void> {
    const read = (path: string) => readFile(inPlace(path), 'utf8');
    const claim = await read('strongroom.json');
    const { key, node: name } = JSON.parse(claim) as { key: string; node: string };
    const stranger = nodeKeyOf(name, privateKeyOfSeed(new Uint8Array(32).fill(7)));
    const checkpoint = await read('checkpoint');
    const both = `${checkpoint}${signNote(stranger, noteBody(checkpoint)).split('\n\n').at(-1)}`;
    await writeFile(inPlace('checkpoint'), both);
    await writeFile(inPlace('strongroom.json'), claim.replace(key, stranger.verifierKey));
    const state = (await read('state/1.jsonl')).replace(JSON.stringify(checkpoint), JSON.stringify(both));
    await writeFile(inPlace('state/1.jsonl'), hide(otherTime(state)));
    let list = noteBody(await read('files/list'));
    for (const [part = ''] of list.matchAll(/files\/[0-9a-f]{64}/g)) {
      const files = parseLines(await read(part));
      const lines = await Promise.all(
        files.map(async ({ path }) => ({ path, sha256: sha256Of(await readFile(inPlace(path))) })),
      );
      const text = linesOf(lines);
      await rm(inPlace(part));
      await writeFile(inPlace(`files/${sha256Of(text)}`), text);
      list = list.replaceAll(part.slice('files/'.length), sha256Of(text));
    }
    await writeFile(inPlace('files/list'), signNote(stranger, list));
  }

  test.each([
    ['as nodes write it', (state: string) => state],
    ['with blanks', (state: string) => state.replace('"key":', '"key" : ')],
    ['with escapes', (state: string) => state.replace('"key":', '"k\\u0065y":')],
  ])(
    'and verify take a list for none that a second signer of the checkpoint signed; header %s',
    async (_, hide) => {
      await forgeList(hide);
      const { code, stdout } = await runHere(['verify', place, '--json']);
      expect([code, JSON.parse(stdout)]).toMatchObject([
        1,
        { ok: false, verdict: 'altered', damaged: expect.arrayContaining(['files/list']) },
      ]);
      expect(await restoredJson()).toMatchObject({
        code: 1,
        said: { ok: false, list: 'invalid', objects: 2 },
      });
    },
  );
});

describe('what is no regular file', () => {
  /** Requires that verifying and restoring call these objects missing. Opens the node. */
  async function expectMissing(objects: string[]): Promise<void> {
    expect(await verified()).toMatchObject({ missing: objects });
    const restored = join(await temporaryFolder(), 'restored');
    const { code, stdout } = await runHere(['restore', place, '--data', restored, '--json']);
    expect([code, JSON.parse(stdout)]).toMatchObject([1, { objects: 2 - objects.length, missing: objects }]);
    await openNode();
  }

  test('is a pipe or a link to itself, and counts as missing', async () => {
    const [pipe = '', link = ''] = await objects();
    for (const object of [pipe, link]) await rm(inPlace(`archive/${object}`));
    execFileSync('mkfifo', [inPlace(`archive/${pipe}`)]);
    await symlink(inPlace(`archive/${link}`), inPlace(`archive/${link}`));
    await expectMissing([pipe, link]);
    expect(await check()).toMatchObject({ ok: false, missing: 2 });
    expect(await check()).toMatchObject({ ok: true });
  });

  test('is a folder, and counts as missing', async () => {
    const [object = ''] = await objects();
    await rm(inPlace(`archive/${object}`));
    await mkdir(inPlace(`archive/${object}`));
    await expectMissing([object]);
    const refused = await node.sendJson('POST', `/manage/copies/${copy.id}/check?wait=true`, {});
    expect([refused.status, await refused.json()]).toMatchObject([502, { code: 'copy_failed' }]);
  });

  test('is not waited for in place of a checkpoint', async () => {
    await rename(inPlace('checkpoint'), inPlace('kept'));
    execFileSync('mkfifo', [inPlace('checkpoint')]);
    expect(await runHere(['verify', place])).toMatchObject({ code: 2 });
  });
});

describe('a check', () => {
  test('finds an altered state, and sends it again', async () => {
    await openNode();
    await node.sendJson('POST', '/manage/sources', { url: 'http://a.example/' });
    await sync();
    const state = inPlace('state/2.jsonl');
    const text = await readFile(state, 'utf8');
    await writeFile(state, text.replace('"http://a.example/"', '"http://b.example/"'));
    expect(await check()).toMatchObject({ ok: false, damaged: 1 });
    expect(await check()).toMatchObject({ ok: true, damaged: 0 });
    expect(await verified()).toMatchObject({ ok: true });
  });

  test('does not take a state for altered because the sources changed since', async () => {
    await openNode();
    await node.sendJson('POST', '/manage/sources', { url: 'http://a.example/' });
    expect(await check()).toMatchObject({ ok: true });
    await appendFile(inPlace('state/1.jsonl'), '{}\n');
    expect(await check()).toMatchObject({ ok: false, damaged: 1 });
  });
});

test('the tiles of a log are those that the node serves', async () => {
  await addEntries(prepared.data, 600);
  await openNode();
  await sync();
  expect(await verified()).toMatchObject({ ok: true, entries: 601 });
  const tiles = new TileDigests();
  for (let from = 1; from <= 601; from += 500) {
    const page = await node.fetch(`/api/ledger?from=${from}&limit=500`);
    for (const entry of ((await page.json()) as { items: never[] }).items) tiles.add(entry);
  }
  const made = tiles.finish().map(({ path }) => path);
  expect(made.sort()).toEqual(
    ['000', '001', '002.p/89']
      .flatMap((name) => [`tile/0/${name}`, `tile/entries/${name}`])
      .concat('tile/1/000.p/2')
      .sort(),
  );
  await rm(inPlace('tile/1/000.p/2'));
  expect(await verified()).toMatchObject({ ok: false, missing: ['tile/1/000.p/2'] });
});
