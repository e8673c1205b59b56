import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { sha256Of } from '../support/archive/packs.ts';
import { runCommand } from '../support/cli.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { exported, saveZip, textFile, withManifest } from './exportedArchive.ts';

afterEach(closeTestNodes);

const execute = promisify(execFile);

describe('an exported archive', () => {
  test('is refused if its manifest lists a file that is missing, or one file twice', async () => {
    const { folder, file } = await exported(3);
    const listed = `${sha256Of('lost')}  data/blobs/lost\n`;
    const incomplete = await withManifest(file, (lines) => [listed, ...lines]);
    const into = join(folder, 'again');
    const first = await runHere(['import', incomplete, '--data', into]);
    expect([first.code, first.stderr]).toEqual([
      1,
      expect.stringContaining('incomplete: "data/blobs/lost" is missing'),
    ]);
    const twice = await withManifest(file, (lines) => [...lines, ...lines]);
    const second = await runHere(['import', twice, '--data', into]);
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('twice')]);
    expect(await readdir(folder)).not.toContain('again.importing');
  });
});

describe('an import', () => {
  const PRELOAD = new URL('../support/disk/preload.ts', import.meta.url).href;
  /** Runs `import` in a process whose disk is watched. */
  async function importOn(file: string, folder: string, rule?: object) {
    const control = join(folder, 'control');
    await mkdir(control);
    if (rule) await writeFile(join(control, 'rule.json'), JSON.stringify(rule));
    const result = await runCommand(['import', file, '--data', join(folder, 'again')], undefined, {
      NODE_OPTIONS: `--import=${PRELOAD}`,
      STRONGROOM_TEST_DISK: control,
    });
    return { ...result, calls: (await readFile(join(control, 'calls'), 'utf8')).trimEnd().split('\n') };
  }

  test('has its new name on stable storage when it says that it is done', async () => {
    const { folder, file } = await exported(1);
    const { code, calls } = await importOn(file, folder);
    expect(code).toBe(0);
    const renamed = calls.findLastIndex((call) => call.startsWith('rename ') && call.endsWith('/again'));
    expect(renamed).toBeGreaterThan(0);
    expect(calls.slice(renamed + 1)).toContain(`sync ${folder}`);
  });

  test('leaves nothing if the folder cannot get its name', async () => {
    const { folder, file } = await exported(1);
    const { code } = await importOn(file, folder, { call: 'rename', path: '/again', code: 'EIO' });
    expect([code, (await readdir(folder)).sort()]).toEqual([2, ['archive.zip', 'control']]);
  });
});

describe('a ZIP that is written while it is read', () => {
  test('is read by other programs, also where sizes have 64 bits', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'large.zip');
    await saveZip(file, [
      textFile('a', 'plain', 5 * 2 ** 30),
      textFile('b.txt', 'text '.repeat(1_000), 2 ** 33),
    ]);
    await rename(file, join(folder, 'renamed.zip'));
    await execute('python3', ['-m', 'zipfile', '-t', 'renamed.zip'], { cwd: folder });
    await execute('python3', ['-m', 'zipfile', '-e', 'renamed.zip', '.'], { cwd: folder });
    expect(await readFile(join(folder, 'a'), 'utf8')).toBe('plain');
    expect(await readFile(join(folder, 'b.txt'), 'utf8')).toHaveLength(5_000);
  });
});
