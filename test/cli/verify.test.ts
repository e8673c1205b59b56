import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CLAIM } from '../../server/copies/copyPaths.ts';
import type { Finding, Summary } from '../../server/verification/report.ts';
import { SAMPLE_FILES, VALID_PACK_FILE } from '../support/archive/packFiles.ts';
import { sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { runCommand } from '../support/cli.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(closeTestNodes);

function verify(...args: string[]) {
  return runHere(['verify', ...args], folder);
}

describe('strongroom verify (contract, section 6)', () => {
  test('prints the state of each file, exits with 0 if all is intact, and writes no progress to a pipe', async () => {
    await writeFile(join(folder, 'x.pack.zip'), VALID_PACK_FILE);
    const { code, stdout, stderr } = await verify('x.pack.zip');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('intact   x.pack.zip/data/readings/süd.csv\n');
    expect(stdout).toMatch(/\nEverything is intact: 8 files\.\n$/);
  });

  test('exits with 1 if anything is not intact; --json prints one object per line and then the counts', async () => {
    await writeFile(join(folder, 'a'), 'a');
    await writeFile(join(folder, 'b'), 'b');
    await writeFile(join(folder, 'sums'), `${sha256Of('a')}  a\n${sha256Of('x')}  b\n${sha256Of('')}  c\n`);
    const { code, stdout } = await verify('sums', '--json');
    expect(code).toBe(1);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Finding | { summary: Summary });
    expect(lines.at(-1)).toEqual({ summary: { ok: false, intact: 1, changed: 1, missing: 1, unknown: 0 } });
    expect(lines.slice(0, -1)).toContainEqual({
      path: 'b',
      state: 'changed',
      sha256: sha256Of('b'),
      expected: sha256Of('x'),
      against: 'sums',
      detail: null,
    });
  });

  test('reports a bag that it may not read, and verifies the other files', async () => {
    await mkdir(join(folder, 'locked'));
    await writeFile(join(folder, 'locked', 'bagit.txt'), 'BagIt-Version: 1.0\n');
    await writeFile(join(folder, 'a'), 'a');
    await chmod(join(folder, 'locked'), 0o444);
    // Root can read every folder, unless it gives up these capabilities.
    const before =
      process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];
    const { code, stdout } = await runCommand(['verify', '.'], folder, {}, before);
    await chmod(join(folder, 'locked'), 0o755);
    expect(code).toBe(1);
    expect(stdout).toContain(`a: ${sha256Of('a')}\n`);
    expect(stdout).toMatch(/bagit\.txt: cannot be read: EACCES\n/);
  });

  test('escapes control and format characters in file names', async () => {
    await mkdir(join(folder, 'in'));
    await writeFile(join(folder, 'in', 'a\x1b[2Kb\u202e.txt\nintact'), '');
    const { stdout } = await verify('in');
    expect(stdout).toContain('unknown  "in/a\\u{1b}[2Kb\\u{202e}.txt\\u{a}intact": ');
  });

  test('escapes them in JSON too, which means the same', async () => {
    const name = 'a\u009b2Kb\u202e\u{e0041}.txt';
    await writeFile(join(folder, name), '');
    const { stdout } = await verify(name, '--json');
    expect(stdout).not.toMatch(/[\u007f-\u009f\p{Cf}]/u);
    expect((JSON.parse(stdout.split('\n')[0] ?? '') as Finding).path).toBe(name);
  });

  test('a file name cannot be taken for what is said of a file', async () => {
    const imitations = [
      'x.html: pack pk_1, key K; 16 claims hold',
      'x.html\u2002intact',
      'x"',
      'x\u3164y',
      'x\ufe55y',
    ];
    for (const name of imitations) await writeFile(join(folder, name), 'a');
    for (const name of ['süd-2_(a)+b@c.txt', '日本.csv']) await writeFile(join(folder, name), 'a');
    const { stdout } = await verify('.');
    const words = `: ${sha256Of('a')}`;
    expect(stdout.split('\n').slice(0, -2).toSorted()).toEqual(
      [
        `unknown  "x.html: pack pk_1, key K; 16 claims hold"${words}`,
        `unknown  "x.html\u2002intact"${words}`,
        `unknown  "x\\""${words}`,
        `unknown  "x\\u{3164}y"${words}`,
        `unknown  "x\ufe55y"${words}`,
        `unknown  süd-2_(a)+b@c.txt${words}`,
        `unknown  日本.csv${words}`,
      ].toSorted(),
    );
  });

  test('--sums compares a folder with a list, --against looks files up in an archive', async () => {
    const node = await openTestNode();
    await uploadNewPack(node, {}, SAMPLE_FILES);
    await mkdir(join(folder, 'in'));
    await writeFile(join(folder, 'in/copy.txt'), 'Measured by hand.\n');
    await writeFile(join(folder, 'sums'), `${sha256Of('Measured by hand.\n')}  copy.txt\n`);
    const results = await Promise.all([
      verify('in', '--sums', 'sums'),
      verify('in', '--against', node.url),
      verify('in/copy.txt', '--against', node.dataFolder),
    ]);
    expect(results.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      results.map(() => ({ code: 0, stderr: '' })),
    );
  });

  test('exits with 2 and one sentence after wrong usage', async () => {
    await mkdir(join(folder, 'copy'));
    await writeFile(join(folder, 'copy', CLAIM), '{}');
    await writeFile(join(folder, 'sums'), `${sha256Of('')}  checkpoint\n`);
    const results = await Promise.all([
      verify(),
      verify('x', '--sums', 'nowhere'),
      verify('x', '--against', folder),
      verify('x', '--unknown'),
      // A copy has a list of its own, and would be called intact without a look at what was named.
      verify('copy', '--sums', 'sums'),
      verify('copy', '--against', folder),
    ]);
    for (const { code, stdout, stderr } of results) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr.trim().split('\n')).toHaveLength(1);
    }
    for (const { stderr } of results.slice(-2)) expect(stderr).toContain('A copy is verified by its own');
    expect((await verify('--help')).code).toBe(0);
  });
});
