import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { isChecksumList, parseChecksums } from '../../server/verification/checksums.ts';
import { isInstalled, run } from '../support/extract.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

afterEach(closeTestNodes);

const DIGEST = 'ab'.repeat(32);

test.each([
  [`${DIGEST}  notes.txt`, 'notes.txt'],
  [`${DIGEST} *notes.txt`, 'notes.txt'],
  [`${DIGEST.toUpperCase()}  notes.txt`, 'notes.txt'],
  [`${DIGEST}   two spaces before`, ' two spaces before'],
  [`${DIGEST}  a  b`, 'a  b'],
  [`\\${DIGEST}  a\\nb\\\\c\\rd`, 'a\nb\\c\rd'],
  [`${DIGEST}  a\\nb`, 'a\\nb'],
  [`SHA256 (notes (1).txt) = ${DIGEST}`, 'notes (1).txt'],
  [`\\SHA256 (a\\nb) = ${DIGEST}`, 'a\nb'],
  [`SHA2-256(notes.txt)= ${DIGEST}`, 'notes.txt'],
  [`\ufeff${DIGEST}  notes.txt\r\n`, 'notes.txt'],
  [`# made by hand\n\n${DIGEST}  notes.txt\n`, 'notes.txt'],
])('a line of a checksum list is parsed: %j', (text, name) => {
  expect(parseChecksums(text)).toEqual({ entries: [{ name, sha256: DIGEST }], faults: [] });
});

test.each([
  [`${DIGEST}`],
  [`${DIGEST}  `],
  [`${DIGEST.slice(1)}  notes.txt`],
  [`${DIGEST}0  notes.txt`],
  [`MD5 (notes.txt) = ${'a'.repeat(32)}`],
  ['notes.txt'],
])('a line without a SHA-256 digest and a name is a fault: %j', (line) => {
  expect(parseChecksums(`${DIGEST}  a\n${line}\n`)).toMatchObject({ entries: [{ name: 'a' }], faults: [2] });
});

test('a checksum list is recognised by its content', () => {
  expect(isChecksumList(`${DIGEST}  a\n`)).toBe(true);
  expect(isChecksumList('time,level\n1,2.5\n')).toBe(false);
  expect(isChecksumList('')).toBe(false);
});

test.for<string[]>([[], ['--tag']])(
  'the output of sha256sum %j is parsed for any file name',
  async (options, { skip }) => {
    skip(!(await isInstalled('sha256sum')), 'sha256sum is not installed');
    const folder = await temporaryFolder();
    const name = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 20 })
      .filter((text) => text.isWellFormed() && !/[\0/]/.test(text) && text !== '.' && text !== '..');
    const names = fc
      .sample(fc.uniqueArray(name, { minLength: 30, maxLength: 30 }), { numRuns: 1, seed: 7 })
      .flat();
    names.push('a\nb', 'back\\slash', ' leading', 'trailing ', '*star', 'c\rd', '\\', '(x) = y');
    for (const each of names) await writeFile(join(folder, each), each);
    const { entries, faults } = parseChecksums(await run('sha256sum', [...options, '--', ...names], folder));
    expect(faults).toEqual([]);
    expect(entries.map((entry) => entry.name)).toEqual(names);
  },
);
