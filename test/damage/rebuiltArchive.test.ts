import { cp, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { needsRebuild } from '../../server/dump/rebuildArchive.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { end, serveNode } from '../support/cli.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { blobFiles, copyOf, digestsIn, keyOf, run } from './support.ts';

/*
 * A copy of a closed archive of two packs, with one dump of the first pack and one of both in its folder.
 */
let closed: string;
let folder: string;
let ids: string[];
let key: string;
beforeAll(async () => {
  const node = await openTestNode();
  ids = [];
  const dumps = join(node.dataFolder, 'dumps');
  await mkdir(dumps);
  for (const title of ['first', 'second']) {
    ids.push((await uploadNewPack(node, { title }, { 'a.txt': `The ${title} bytes.` })).id);
    await writeFile(join(dumps, `${title}.jsonl`), await (await node.fetch('/api/dump.jsonl')).text());
  }
  await writeFile(join(dumps, 'notes.jsonl'), '{"kind":"something else"}\n');
  await node.close();
  closed = node.dataFolder;
  key = await keyOf(closed);
});
beforeEach(async () => {
  folder = await copyOf(closed);
});
afterAll(closeTestNodes);

async function expectAllThere(): Promise<void> {
  const node = await openTestNode({ dataFolder: folder });
  for (const id of ids)
    expect(await (await node.fetch(`/api/packs/${id}/verify`)).json()).toMatchObject({ ok: true });
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true, size: 2 });
  await node.close();
}

test('a removed database is rebuilt from the newest dump, with the same key', async () => {
  await rm(join(folder, 'strongroom.db'));
  const { code, output } = await run('rebuild', folder);
  expect([code, output]).toEqual([
    0,
    expect.stringMatching(/second\.jsonl: 2 entries.*\n.*\nNo stored bytes are missing: 2 objects/),
  ]);
  expect(await keyOf(folder)).toBe(key);
  expect(await readdir(folder)).not.toContain('rebuilding');
  await expectAllThere();
});

test('rebuilding keeps an unreadable database under another name', async () => {
  const file = join(folder, 'strongroom.db');
  const bytes = await readFile(file);
  for (let page = 4_096; page < bytes.length; page += 4_096) bytes.fill(0xa5, page, page + 200);
  await writeFile(file, bytes);
  expect((await run('rebuild', folder)).code).toBe(0);
  const [broken = ''] = (await readdir(folder)).filter((name) => name.startsWith('strongroom.db.broken-'));
  expect((await readFile(join(folder, broken))).equals(bytes)).toBe(true);
  await expectAllThere();
});

test('serve --rebuild replaces an empty database file and serves the archive', async () => {
  await truncate(join(folder, 'strongroom.db'), 0);
  const node = await serveNode(folder, '--rebuild');
  for (const id of ids) expect((await fetch(new URL(`/api/packs/${id}`, node.url))).status).toBe(200);
  expect(await end(node, 'SIGTERM')).toBe(0);
  expect(await needsRebuild(folder), 'the next start opens it').toBe(false);
});

test('refuses to replace a readable database', async () => {
  const before = await digestsIn(folder);
  const { code, output } = await run('rebuild', folder);
  expect([code, output]).toEqual([2, expect.stringContaining('can be read, so it is not replaced')]);
  expect(await digestsIn(folder)).toEqual(before);
});

test('uses a dump that lacks acknowledged entries only if a rollback is accepted', async () => {
  await rm(join(folder, 'strongroom.db'));
  await rm(join(folder, 'dumps', 'second.jsonl'));
  const before = await digestsIn(folder);
  const refused = await run('rebuild', folder);
  expect([refused.code, refused.output]).toEqual([
    2,
    expect.stringMatching(
      /does not hold all of this archive: its ledger ends with entry 1.*--accept-rollback/,
    ),
  ]);
  expect(await digestsIn(folder)).toEqual(before);
  const blobs = await blobFiles(folder);
  const accepted = await run('rebuild', folder, '--accept-rollback');
  expect(accepted.code, accepted.output).toBe(0);
  expect(await keyOf(folder)).not.toBe(key);
  expect(await blobFiles(folder)).toEqual(blobs);
  const node = await openTestNode({ dataFolder: folder });
  expect(await (await node.fetch('/api/ledger/keys')).json()).toMatchObject({
    items: [{ type: 'ledger.rolled_back', from: { seq: 2 }, to: { seq: 1 }, old_key: key }],
  });
});

test('reports missing blobs and ends with 1', async () => {
  await rm(join(folder, 'strongroom.db'));
  const [blob = ''] = await blobFiles(folder);
  await rm(join(folder, 'blobs', blob));
  const { code, output } = await run('rebuild', folder);
  expect(code).toBe(1);
  expect(output).toContain(`${blob.split('/').at(-1)}: its bytes are missing.`);
  expect(output).toMatch(/^1 of 2 objects/m);
});

test('rebuilds the database although the key is missing, and reports that', async () => {
  await rm(join(folder, 'strongroom.db'));
  await rm(join(folder, 'key'));
  const { code, output } = await run('rebuild', folder);
  expect([code, output]).toEqual([1, expect.stringMatching(/key is missing.*key --renew/)]);
  expect((await run('key', '--renew', '--data', folder)).code).toBe(0);
});

test('skips damaged dumps and dumps of other archives, and fails if there is no other dump', async () => {
  const other = await openTestNode();
  for (const title of ['a', 'b', 'c']) await uploadNewPack(other, { title });
  const foreign = await (await other.fetch('/api/dump.jsonl')).text();
  await rm(join(folder, 'strongroom.db'));
  await writeFile(join(dirname(folder), 'foreign.jsonl'), foreign);
  const dumps = join(folder, 'dumps');
  await cp(join(dumps, 'second.jsonl'), join(folder, 'whole.jsonl'));
  await truncate(join(dumps, 'second.jsonl'), 2_000);
  const { code, output } = await run('rebuild', folder);
  expect(code, output).toBe(0);
  expect(output).toMatch(/Skipped: .*foreign\.jsonl: It is the dump of another archive\./);
  await expectAllThere();

  const empty = await temporaryFolder();
  await mkdir(join(empty, 'data'));
  await writeFile(join(empty, 'data', 'key'), 'a key');
  const none = await run('rebuild', join(empty, 'data'));
  expect([none.code, none.output]).toEqual([2, expect.stringContaining('There is no dump to rebuild')]);
});
