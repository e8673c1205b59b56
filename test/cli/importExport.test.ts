import { execFile } from 'node:child_process';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import type { Pack } from '../../shared/archive/pack.ts';
import { sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

afterEach(closeTestNodes);

const run = promisify(execFile);

/** Creates a closed data folder with one pack; returns its ledger, dump and pack file. */
async function closedArchive() {
  const node = await openTestNode();
  const pack = await uploadNewPack(node, sampleRecord(), { 'a.csv': 'x,y\n1,2\n', 'deep/b.txt': 'ü' });
  const ledger: unknown = await (await node.fetch('/api/ledger')).json();
  const dump = await (await node.fetch('/api/dump.jsonl')).text();
  const packFile = Buffer.from(await (await node.fetch(`/api/packs/${pack.id}/file`)).arrayBuffer());
  await node.close();
  return { data: node.dataFolder, pack, ledger, dump, packFile };
}

async function verdictOf(data: string, { id }: Pick<Pack, 'id'>) {
  const node = await openTestNode({ dataFolder: data });
  const ledger: unknown = await (await node.fetch('/api/ledger')).json();
  const { ok } = (await (await node.fetch(`/api/packs/${id}/verify`)).json()) as { ok: boolean };
  const verified = (await (await node.fetch('/api/ledger/verify')).json()) as { ok: boolean };
  await node.close();
  return { ledger, pack: ok, verified: verified.ok };
}

describe('strongroom export and import (contract, section 6)', () => {
  test('an exported archive is imported into an equal one, with its blobs', async () => {
    const { data, pack, ledger } = await closedArchive();
    const folder = await temporaryFolder();
    const file = join(folder, 'archive.zip');
    const written = await runHere(['export', '--data', data, '--out', file, '--json']);
    expect([written.code, JSON.parse(written.stdout)]).toEqual([
      0,
      expect.objectContaining({ ok: true, blobs: 2 }),
    ]);
    expect(await runHere(['verify', file])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Everything is intact: 6 files.'),
    });
    const read = await runHere(['import', file, '--data', join(folder, 'again')]);
    expect(read).toMatchObject({ code: 0, stderr: '' });
    expect(await verdictOf(join(folder, 'again'), pack)).toEqual({ ledger, pack: true, verified: true });
    await run('python3', ['-m', 'zipfile', '-e', file, folder]);
    const manifests = ['manifest-sha256.txt', 'tagmanifest-sha256.txt'];
    await run('sha256sum', ['--quiet', '--strict', '-c', ...manifests], {
      cwd: join(folder, 'strongroom-archive'),
    });
  });

  test('an archive is exported while its node runs and accepts packs', async () => {
    const node = await openTestNode();
    const pack = await uploadNewPack(node, sampleRecord(), { 'a.csv': 'x,y\n1,2\n', 'deep/b.txt': 'ü' });
    const ledger: unknown = await (await node.fetch('/api/ledger')).json();
    const folder = await temporaryFolder();
    const file = join(folder, 'archive.zip');
    let isWritten = false;
    const exporting = runHere(['export', '--data', node.dataFolder, '--out', file, '--json']).finally(
      () => (isWritten = true),
    );
    let later = 0;
    for (; !isWritten; later += 1)
      await uploadNewPack(node, { title: `Later ${later}` }, { a: `later ${later}` });
    const written = await exporting;
    expect([written.code, written.stderr]).toEqual([0, '']);
    expect(later).toBeGreaterThan(0);
    expect(await readdir(folder)).toEqual(['archive.zip']);
    expect((await uploadNewPack(node, { title: 'After' }, { a: 'after' })).ledger_entry).toBe(later + 2);
    await runHere(['import', file, '--data', join(folder, 'again')]);
    const again = await verdictOf(join(folder, 'again'), pack);
    expect(again).toMatchObject({ pack: true, verified: true });
    const { items } = again.ledger as { items: unknown[] };
    expect(items.slice(0, 1)).toEqual((ledger as { items: unknown[] }).items);
    const { blobs } = JSON.parse(written.stdout) as { blobs: number };
    expect(blobs).toBe(items.length + 1);
  });

  test('a damaged blob is reported, and no file is written', async () => {
    const { data, pack } = await closedArchive();
    const digest = pack.files[0]?.sha256 ?? '';
    await writeFile(join(data, 'blobs', digest.slice(0, 2), digest.slice(2, 4), digest), 'x,y\n1,3\n');
    const folder = await temporaryFolder();
    const { code, stderr } = await runHere(['export', '--data', data, '--out', join(folder, 'archive.zip')]);
    expect([code, await readdir(folder)]).toEqual([1, []]);
    expect(stderr).toContain(digest);
  });

  test.runIf(process.platform === 'linux')(
    'a full disk is named as the reason, and nothing is left',
    async () => {
      const { data } = await closedArchive();
      const folder = await temporaryFolder();
      const out = join(folder, 'archive.zip');
      // What is written there ends in ENOSPC.
      await symlink('/dev/full', `${out}.partial`);
      const { code, stderr } = await runHere(['export', '--data', data, '--out', out]);
      expect([code, stderr]).toEqual([2, 'The disk is full: free some space and try again.\n']);
      expect(await readdir(folder)).toEqual([]);
    },
  );

  test('a node refuses to go on at a damaged blob, and its export leaves neither a file nor a working file', async () => {
    const node = await openTestNode();
    const { files } = await uploadNewPack(node, {}, { 'a.csv': 'x,y\n1,2\n' });
    const digest = files[0]?.sha256 ?? '';
    const blob = join(node.dataFolder, 'blobs', digest.slice(0, 2), digest.slice(2, 4), digest);
    await writeFile(blob, 'x,y\n1,3\n');
    const folder = await temporaryFolder();
    const out = join(folder, 'archive.zip');
    const { code, stderr } = await runHere(['export', '--data', node.dataFolder, '--out', out]);
    expect([code, await readdir(folder)]).toEqual([1, []]);
    expect(stderr).toContain(`the blob ${digest} is missing or damaged`);
    // The command ends with the connection; the node removes its working file after that.
    await eventually(async () => expect(await readdir(join(node.dataFolder, 'tmp'))).toEqual([]));
    expect((await node.fetch('/manage/archive.zip')).status).toBe(401);
  });

  test('an altered file is refused and leaves no data folder', async () => {
    const { data } = await closedArchive();
    const folder = await temporaryFolder();
    const file = join(folder, 'archive.zip');
    await runHere(['export', '--data', data, '--out', file]);
    const bytes = await readFile(file);
    const at = bytes.indexOf('x,y\n1,2\n');
    bytes.write('x,y\n1,3\n', at);
    await writeFile(file, bytes);
    const verified = await runHere(['verify', file]);
    expect([verified.code, verified.stdout]).toEqual([1, expect.stringMatching(/^changed .*archive\.zip/)]);
    const read = await runHere(['import', file, '--data', join(folder, 'again')]);
    expect(read.code).toBe(1);
    expect(await readdir(folder)).toEqual(['archive.zip']);
  });

  test('a dump restores the ledger, and pack files add the files of its packs', async () => {
    const { pack, ledger, dump, packFile } = await closedArchive();
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'dump.jsonl'), dump);
    await writeFile(join(folder, 'a.pack.zip'), packFile);
    const data = join(folder, 'again');
    expect((await runHere(['import', join(folder, 'dump.jsonl'), '--data', data])).code).toBe(0);
    expect(await verdictOf(data, pack)).toEqual({ ledger, pack: false, verified: true });
    const { code, stdout } = await runHere(['import', join(folder, 'a.pack.zip'), '--data', data]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('is already in the archive')]);
    expect(await verdictOf(data, pack)).toEqual({ ledger, pack: true, verified: true });
  });

  test('of a dump whose trailer nobody signed, the import says that nothing covers the sources, the rounds and the cases', async () => {
    const { dump } = await closedArchive();
    const folder = await temporaryFolder();
    const [file, unsigned] = [join(folder, 'dump.jsonl'), join(folder, 'unsigned.jsonl')];
    await writeFile(file, dump);
    await writeFile(unsigned, dump.replace(/,"signed":"(?:[^"\\]|\\.)*"\}\n$/, '}\n'));
    expect(await readFile(unsigned, 'utf8')).not.toBe(dump);
    const said = 'The dump is not signed: no signature covers the sources, the rounds and the cases';
    const importInto = async (from: string, name: string, ...words: string[]) =>
      runHere(['import', from, '--data', join(folder, name), ...words]);
    expect((await importInto(unsigned, 'a')).stdout).toContain(said);
    expect((await importInto(file, 'b')).stdout).not.toContain(said);
    const json = JSON.parse((await importInto(unsigned, 'c', '--json')).stdout) as object;
    expect(json).toMatchObject({ ok: true, signed: false });
    expect(JSON.parse((await importInto(file, 'd', '--json')).stdout)).toMatchObject({ signed: true });
  });

  test('a dump is refused if the data folder is not empty', async () => {
    const { data, dump } = await closedArchive();
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'dump.jsonl'), dump);
    const { code, stderr } = await runHere(['import', join(folder, 'dump.jsonl'), '--data', data]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is not empty')]);
  });

  test('pack files are added to a new folder, and a refused one is reported with its code', async () => {
    const { pack, packFile } = await closedArchive();
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'good.pack.zip'), packFile);
    await writeFile(join(folder, 'bad.pack.zip'), packFile.subarray(0, -30));
    const data = join(folder, 'new');
    const files = [join(folder, 'bad.pack.zip'), join(folder, 'good.pack.zip')];
    const { code, stdout } = await runHere(['import', ...files, '--data', data, '--json']);
    const results = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect([code, results]).toEqual([
      1,
      [
        expect.objectContaining({ ok: false, code: 'invalid_pack_file' }),
        expect.objectContaining({ ok: true, id: pack.id }),
      ],
    ]);
    expect(await verdictOf(data, pack)).toMatchObject({ pack: true, verified: true });
  });

  test('beside a running node, pack files are imported through it', async () => {
    const { pack, packFile } = await closedArchive();
    const node = await openTestNode();
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'good.pack.zip'), packFile);
    await writeFile(join(folder, 'bad.pack.zip'), packFile.subarray(0, -30));
    const files = [
      join(folder, 'bad.pack.zip'),
      join(folder, 'good.pack.zip'),
      join(folder, 'good.pack.zip'),
    ];
    const { code, stdout } = await runHere(['import', ...files, '--data', node.dataFolder, '--json']);
    const results = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect([code, results]).toEqual([
      1,
      [
        expect.objectContaining({ ok: false, code: 'invalid_pack_file' }),
        expect.objectContaining({ ok: true, kind: 'pack', id: pack.id, sentence: `added as ${pack.id}.` }),
        expect.objectContaining({ ok: true, sentence: `${pack.id} is already in the archive.` }),
      ],
    ]);
    expect(await (await node.fetch(`/api/packs/${pack.id}/verify`)).json()).toMatchObject({ ok: true });
  });

  test('beside a running node, a dump is refused in a sentence that says where it can go', async () => {
    const { dump } = await closedArchive();
    const node = await openTestNode();
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'dump.jsonl'), dump);
    const refused = await runHere(['import', join(folder, 'dump.jsonl'), '--data', node.dataFolder]);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('name a new or empty data folder'),
    ]);
  });
});
