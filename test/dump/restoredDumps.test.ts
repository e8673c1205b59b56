import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { describe, expect, test, vi } from 'vitest';
import { restoreDump } from '../../server/dump/restoreDump.ts';
import { lastEntry } from '../../server/store/sqlite/node/ledger.ts';
import { openStore } from '../../server/store/store.ts';
import { streamedZip } from '../../server/zip/writeZip.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { release } from '../copies/withheldCopies.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { extract } from '../support/extract.ts';
import { openTestNode } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { altered, indexOf, member, parseLines, useValidDump, withTrailer } from './dumpLines.ts';

const valid = useValidDump();

describe('a valid dump', () => {
  test('is restored into an archive with the same ledger head, which verifies', async () => {
    const own = await mkdtemp(join(valid.folder, 'valid-'));
    const file = join(own, 'dump.jsonl');
    await writeFile(file, withTrailer(valid.lines));
    expect(await runHere(['verify', file])).toMatchObject({ code: 3, stderr: '' });
    expect(await runHere(['import', file, '--data', join(own, 'new')])).toMatchObject({
      code: 0,
      stderr: '',
    });
    const node = await openTestNode({ dataFolder: join(own, 'new') });
    const ledger = (await (await node.fetch('/api/ledger')).json()) as { head: unknown };
    expect(ledger.head).toEqual(valid.head);
    expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true, problems: [] });
    const again = parseLines(await (await node.fetch('/api/dump.jsonl')).text());
    expect(again.slice(1, -1)).toEqual(valid.lines.slice(1, -1));
  });
});

test('a dump is restored in transactions that are bounded in bytes, because a line may have megabytes', async () => {
  const own = await mkdtemp(join(valid.folder, 'bounded-'));
  const file = join(own, 'dump.jsonl');
  await writeFile(file, withTrailer(valid.lines));
  const store = await openStore({ folder: join(own, 'new'), clock: systemClock });
  const writes = vi.spyOn(store, 'write');
  await restoreDump(store, file, { lines: 2_000, bytes: 4_000 });
  expect(lastEntry(store.read)).toMatchObject({ seq: (valid.head as { seq: number }).seq });
  await store.close();
  expect(writes.mock.calls.length).toBeGreaterThan(5);
});

test('a source is restored although percent-encoding made its URL longer than the limit for input', async () => {
  const own = await mkdtemp(join(valid.folder, 'long-'));
  const node = await openTestNode({ dataFolder: join(own, 'data') });
  const url = `http://long.example/${'ü'.repeat(4_000)}`;
  expect((await node.sendJson('POST', '/manage/sources', { url })).status).toBe(201);
  await writeFile(join(own, 'dump.jsonl'), await (await node.fetch('/api/dump.jsonl')).text());
  const read = await runHere(['import', join(own, 'dump.jsonl'), '--data', join(own, 'new')]);
  expect(read).toMatchObject({ code: 0, stderr: '' });
});

/** Rewrites the dump in an exported archive, with every digest that depends on it. */
async function rewriteDump(file: string, forged: string, change: (dump: string) => string): Promise<void> {
  await rewriteBag(file, forged, async (bag) => {
    const dump = join(bag, 'data/dump.jsonl');
    const before = await readFile(dump, 'utf8');
    await writeFile(dump, change(before));
    return (manifest) => manifest.replace(sha256Of(before), sha256Of(change(before)));
  });
}

/** @param change changes files of the bag, and returns how its manifest changes with them. */
async function rewriteBag(
  file: string,
  forged: string,
  change: (bag: string) => Promise<(manifest: string) => string>,
): Promise<void> {
  const own = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
  await extract(file, own);
  const bag = join(own, 'strongroom-archive');
  const changeManifest = await change(bag);
  const [manifest, tags] = [join(bag, 'manifest-sha256.txt'), join(bag, 'tagmanifest-sha256.txt')];
  const before = await readFile(manifest, 'utf8');
  await writeFile(manifest, changeManifest(before));
  const listed = await readFile(tags, 'utf8');
  await writeFile(tags, listed.replace(sha256Of(before), sha256Of(changeManifest(before))));
  const files = (await readdir(own, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({
      name: relative(own, path),
      bytes: 0,
      isCompressed: true,
      read: () => createReadStream(path) as AsyncIterable<Buffer>,
    }));
  await pipeline(streamedZip(files, { modified: new Date(0) }), createWriteStream(forged));
  await rm(own, { recursive: true });
}

describe('verify and import report a forged dump', () => {
  test('with the number of the line, as text and as JSON, and exit with 1', async () => {
    const own = await mkdtemp(join(valid.folder, 'said-'));
    const file = join(own, 'dump.jsonl');
    await writeFile(file, withTrailer(altered(valid.lines, 'comment', 0, member('body', 'Forged'))));
    const at = indexOf(valid.lines, 'comment', 0) + 1;
    const message = new RegExp(`line ${at}: .*altered`);
    const verified = await runHere(['verify', file]);
    expect([verified.code, verified.stdout]).toEqual([1, expect.stringMatching(message)]);
    const asJson = await runHere(['verify', '--json', file]);
    expect(JSON.parse(asJson.stdout.split('\n')[0] ?? '')).toMatchObject({ state: 'changed', line: at });
    const read = await runHere(['import', file, '--data', join(own, 'new')]);
    expect([read.code, read.stderr]).toEqual([1, expect.stringMatching(message)]);
    const readAsJson = await runHere(['import', '--json', file, '--data', join(own, 'new')]);
    expect(JSON.parse(readAsJson.stdout)).toMatchObject({ ok: false, line: at });
    expect(await readdir(own)).toEqual(['dump.jsonl']);
  });

  test('in an exported archive whose manifests were rewritten to match', async () => {
    const own = await mkdtemp(join(valid.folder, 'export-'));
    const file = join(own, 'archive.zip');
    await runHere(['export', '--data', valid.data, '--out', file]);
    const forged = join(own, 'forged.zip');
    await rewriteDump(file, forged, (dump) =>
      withTrailer(altered(parseLines(dump), 'comment', 0, member('body', 'Forged'))),
    );
    const message = new RegExp(`line ${indexOf(valid.lines, 'comment', 0) + 1}: .*altered`);
    const verified = await runHere(['verify', forged]);
    expect([verified.code, verified.stdout]).toEqual([1, expect.stringMatching(message)]);
    const read = await runHere(['import', forged, '--data', join(own, 'new')]);
    expect([read.code, read.stderr]).toEqual([1, expect.stringMatching(message)]);
    expect((await readdir(own)).sort()).toEqual(['archive.zip', 'forged.zip']);
  });

  test('as incomplete, or not named by its digest, if an object was removed or replaced with its line', async () => {
    const own = await mkdtemp(join(valid.folder, 'lost-'));
    const file = join(own, 'archive.zip');
    await runHere(['export', '--data', valid.data, '--out', file]);
    const inBag = async (bag: string) => {
      const manifest = await readFile(join(bag, 'manifest-sha256.txt'), 'utf8');
      const [line = '', sha256 = '', path = ''] =
        /^([0-9a-f]{64}) {2}(data\/blobs\/.*)\n/m.exec(manifest) ?? [];
      return { line, sha256, path: join(bag, path) };
    };
    const lost = join(own, 'lost.zip');
    let object = '';
    await rewriteBag(file, lost, async (bag) => {
      const { line, sha256, path } = await inBag(bag);
      object = sha256;
      await rm(path);
      return (manifest) => manifest.replace(line, '');
    });
    const replaced = join(own, 'replaced.zip');
    await rewriteBag(file, replaced, async (bag) => {
      const { line, sha256, path } = await inBag(bag);
      await writeFile(path, 'other bytes');
      return (manifest) => manifest.replace(line, line.replace(sha256, sha256Of('other bytes')));
    });
    for (const [forged, said] of [
      [lost, `missing  ${lost}/data/blobs/`],
      [replaced, 'not named by its digest'],
    ] as const) {
      const verified = await runHere(['verify', forged]);
      expect([verified.code, verified.stdout]).toEqual([1, expect.stringContaining(said)]);
      expect(verified.stdout).toContain(object);
      const read = await runHere(['import', forged, '--data', join(own, 'new')]);
      expect([read.code, read.stderr]).toEqual([1, expect.stringContaining(object)]);
    }
    expect((await readdir(own)).sort()).toEqual(['archive.zip', 'lost.zip', 'replaced.zip']);
  });

  test('without calling an object missing of which a line that cannot be read says that it was given up', async () => {
    const node = await openTestNode();
    const { files } = await uploadNewPack(node, sampleRecord(), { 'a.txt': 'one', 'b.txt': 'two' });
    await release(node, files[0]?.sha256 ?? '');
    await node.close();
    const own = await mkdtemp(join(valid.folder, 'released-'));
    const [file, forged] = [join(own, 'archive.zip'), join(own, 'forged.zip')];
    expect(await runHere(['export', '--data', node.dataFolder, '--out', file])).toMatchObject({ code: 0 });
    expect(await runHere(['verify', file])).toMatchObject({ code: 0 });
    await rewriteDump(file, forged, (dump) => dump.replace('{"kind":"object_released"', '{"kind":"nothing"'));
    const verified = await runHere(['verify', forged]);
    expect(verified.code).toBe(1);
    expect(verified.stdout).not.toContain('missing  ');
  });
});
