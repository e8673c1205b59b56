import { execFile } from 'node:child_process';
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { hasMember } from '../../server/zip/openZip.ts';
import { countOf } from '../../shared/values/counts.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { exported, saveZip, textFile, withManifest } from './exportedArchive.ts';

afterEach(closeTestNodes);

const execute = promisify(execFile);
const MEBIBYTE = 1_048_576;

test('an exported archive is imported although its manifest has more than 256 MiB, as that of 1.8 million objects has', async () => {
  const { folder, file, blobs } = await exported(1_040);
  let bytes = 0;
  const large = await withManifest(file, function* (lines) {
    for (const line of lines) {
      const longer = line.replace('  ', ' '.repeat(MEBIBYTE / 4));
      bytes += longer.length;
      yield longer;
    }
  });
  expect(bytes).toBeGreaterThan(256 * MEBIBYTE);
  const read = await runHere(['import', large, '--data', join(folder, 'again')]);
  expect(read).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining(countOf(blobs, 'blob')),
  });
});

test('a ZIP that is written while it is read is extracted by unzip, also where sizes have 64 bits', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'large.zip');
  await saveZip(file, [
    textFile('a', 'plain', 5 * 2 ** 30),
    textFile('b.txt', 'text '.repeat(1_000), 2 ** 33),
  ]);
  await rename(file, join(folder, 'renamed.zip'));
  await execute('unzip', ['-q', 'renamed.zip'], { cwd: folder });
  expect(await readFile(join(folder, 'a'), 'utf8')).toBe('plain');
  expect(await readFile(join(folder, 'b.txt'), 'utf8')).toHaveLength(5_000);
});

test('a ZIP that is written while it is read holds more files than one of 16-bit numbers', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'many.zip');
  const files = function* () {
    for (let number = 0; number < 65_600; number += 1) yield textFile(`bag/${number}`, '');
  };
  await saveZip(file, files());
  expect(await hasMember(file, (name) => name === 'bag/65599')).toBe(true);
  const listed = await execute('python3', ['-m', 'zipfile', '-l', file], {
    maxBuffer: 16 * MEBIBYTE,
  });
  expect(listed.stdout.match(/^bag\//gm)).toHaveLength(65_600);
});
