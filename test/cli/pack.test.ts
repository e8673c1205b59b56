import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { packFolder } from '../../server/archive/packs/file/packFolder.ts';
import type { Pack, PackRecordInput } from '../../shared/archive/pack.ts';
import { SAMPLE_FILES } from '../support/archive/packFiles.ts';
import { filesOf, sampleRecord } from '../support/archive/packs.ts';
import { extract } from '../support/extract.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

let folder: string;
let data: string;
let record: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  data = join(folder, 'data folder');
  record = join(folder, 'record.json');
  for (const [path, content] of Object.entries(SAMPLE_FILES)) {
    await mkdir(dirname(join(data, path)), { recursive: true });
    await writeFile(join(data, path), content);
  }
  await writeRecord({});
});
afterEach(closeTestNodes);

function writeRecord(changes: Partial<PackRecordInput>): Promise<void> {
  return writeFile(record, JSON.stringify(sampleRecord(changes)));
}

function pack(...args: string[]) {
  return runHere(['pack', ...args], folder);
}

describe('strongroom pack (contract, section 6)', () => {
  test('creates a pack file that a node accepts and returns byte for byte', async () => {
    const { code, stdout } = await pack('data folder', '--record', 'record.json', '-o', 'made.zip', '--json');
    expect(code).toBe(0);
    const made = JSON.parse(stdout) as { id: string; digest: string; bytes: number };
    const bytes = await readFile(join(folder, 'made.zip'));
    expect(made).toMatchObject({ ok: true, file: join(folder, 'made.zip'), bytes: bytes.length, files: 3 });

    const node = await openTestNode();
    const headers = { 'Content-Type': 'application/zip' };
    const response = await node.fetchAsOwner('/api/packs', {
      method: 'POST',
      body: new Uint8Array(bytes),
      headers,
    });
    expect(response.status).toBe(201);
    const { id, digest, files } = (await response.json()) as Pack;
    expect({ id, digest }).toEqual({ id: made.id, digest: made.digest });
    expect(files.map(({ media_type }) => media_type)).toEqual(['text/plain', 'text/csv', 'text/csv']);
    const file = await node.fetch(`/api/packs/${id}/file`);
    expect(Buffer.from(await file.arrayBuffer()).equals(bytes)).toBe(true);
  });

  test('creates the same pack file in every time zone, named by the pack’s id', async () => {
    const execute = promisify(execFile);
    const cli = fileURLToPath(new URL('../../server/cli.ts', import.meta.url));
    const args = [cli, 'pack', data, '--record', record, '--json'];
    const made = await Promise.all(
      ['America/New_York', 'Asia/Tokyo'].map(async (TZ) => {
        const cwd = await temporaryFolder();
        const { stdout } = await execute(process.execPath, args, { cwd, env: { ...process.env, TZ } });
        const { id } = JSON.parse(stdout) as { id: string };
        expect(await readdir(cwd)).toEqual([`${id}.pack.zip`]);
        return readFile(join(cwd, `${id}.pack.zip`));
      }),
    );
    expect(made[0]?.equals(made[1] as Buffer)).toBe(true);
  });

  test('uses pack.json in the folder as the record, and packs an extracted pack file to the same bytes', async () => {
    await writeFile(join(data, 'pack.json'), JSON.stringify(sampleRecord()));
    const first = JSON.parse((await pack(data, '--json')).stdout) as {
      id: string;
      file: string;
      files: number;
    };
    expect(first.files).toBe(3);
    await extract(first.file, folder);
    const second = await pack(first.id, '-o', 'again.zip');
    expect(second.stdout).toContain(first.id);
    expect((await readFile(join(folder, 'again.zip'))).equals(await readFile(first.file))).toBe(true);
  });

  test('exits with 1 and the code if an upload would be refused, and writes nothing', async () => {
    await writeRecord({ title: '' });
    const { code, stdout, stderr } = await pack(data, '--record', record, '-o', 'x.zip', '--json');
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      code: 'invalid_field',
      errors: [{ path: '/title' }],
    });
    expect(await readdir(folder)).toEqual(['data folder', 'record.json']);
  });

  const REFUSED: [code: string, record: Partial<PackRecordInput>, prepare?: () => Promise<void>][] = [
    ['terms_not_accepted', { terms_version: '2020-01-01' as '2026-10-01' }],
    ['digest_mismatch', { files: filesOf({ ...SAMPLE_FILES, 'notes.txt': 'Measured by foot.\n' }) }],
    ['files_mismatch', { files: filesOf({ 'other.txt': '' }) }],
    ['unsafe_path', {}, () => promisify(execFile)('mkfifo', [join(data, 'pipe')]).then(() => {})],
    ['invalid_field', {}, () => writeFile(join(data, '100%.txt'), '')],
    ['pack_too_large', {}, () => writeFile(join(data, 'zeros'), Buffer.alloc(52_428_801))],
    ['pack_too_large', {}, () => writeFile(join(data, 'zeros'), Buffer.alloc(52_428_700))],
    ['symlink_entry', {}, () => symlink('notes.txt', join(data, 'link'))],
  ];
  test.each(REFUSED)('refuses a folder with %s', async (code, changes, prepare) => {
    await prepare?.();
    const packing = packFolder({
      folder: data,
      except: new Set(),
      record: sampleRecord(changes),
      fileOf: () => join(folder, 'x.zip'),
    });
    await expect(packing).rejects.toMatchObject({ code });
    expect(await readdir(folder)).toEqual(['data folder', 'record.json']);
  });

  test('exits with 2 and one sentence after wrong usage', async () => {
    const cases: [args: string[], sentence: RegExp][] = [
      [[], /Name the one folder/],
      [['nowhere'], /nowhere is not a folder/],
      [[data], /There is no record .*pack\.json.*"terms_version":"2026-10-01"/],
      [[data, '--record', 'nothing.json'], /There is no record nothing\.json/],
      [[data, '--record', record, '-o', join(data, 'x.zip')], /choose another place with -o/],
      [[data, '--unknown'], /--unknown/],
    ];
    const results = await Promise.all(cases.map(([args]) => pack(...args)));
    for (const [index, { code, stdout, stderr }] of results.entries()) {
      const [args, sentence] = cases[index] as (typeof cases)[number];
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
      expect(stderr).toMatch(sentence);
      expect(stderr.trim().split('\n')).toHaveLength(1);
    }
    expect(await pack('--help')).toMatchObject({ code: 0, stderr: '' });
  });
});
