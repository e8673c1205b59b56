import { expect, test } from 'vitest';
import { isChecksumList, parseChecksums } from '../../shared/values/checksums.ts';

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

test('a list of hashdeep is parsed by its columns', () => {
  const text = `%%%% HASHDEEP-1.0\n%%%% size,md5,sha256,filename\n## $ hashdeep -r .\n12,${'0'.repeat(32)},${DIGEST},./a, b.txt\n12,broken\n`;
  expect(parseChecksums(text)).toEqual({ entries: [{ name: './a, b.txt', sha256: DIGEST }], faults: [5] });
});
