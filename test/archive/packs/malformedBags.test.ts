import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  BAG,
  bareEntries,
  manifestWith,
  plus,
  ROOT,
  recordFor,
  SAMPLE_FILES,
  tagFile,
  withChangedEntry,
  without,
  withTagFile,
  withTagManifest,
} from '../../support/archive/packFiles.ts';
import { buildZip } from '../../support/archive/zipBuilder.ts';
import { openPool, type Pool, type Refused } from '../../support/refusals.ts';

let pool: Pool;
beforeAll(async () => {
  pool = await openPool();
});
afterAll(() => pool.close());

const REFUSED: Refused[] = [
  // Files that the format does not allow.
  ['a file next to data/', 'unknown_entry', buildZip(tagFile('README.md', 'hello'))],
  ['a folder next to data/', 'unknown_entry', buildZip(tagFile('metadata/mods.xml', '<x/>'))],
  ['a file above the folder', 'unknown_entry', buildZip(plus({ name: 'README.md' }))],
  ['a second folder', 'unknown_entry', buildZip(plus({ name: '__MACOSX/x' }))],
  ['Data/ instead of data/', 'unknown_entry', buildZip([...bareEntries({}), { name: 'Data/x' }])],
  ['a fetch.txt', 'unknown_entry', buildZip(tagFile('fetch.txt', 'https://example.org/x 1 data/x\n'))],
  ['an unknown checksum algorithm', 'unknown_entry', buildZip(tagFile('manifest-crc32.txt', ''))],
  [
    'a file next to the record in a plain ZIP',
    'unknown_entry',
    buildZip([...bareEntries(), { name: 'x.txt' }]),
  ],

  // Manifests.
  [
    'a changed file',
    'manifest_mismatch',
    buildZip(withChangedEntry('notes.txt', { data: 'Measured by foot.\n' })),
  ],
  [
    'a longer file',
    'manifest_mismatch',
    buildZip(withChangedEntry('notes.txt', { data: 'Measured by hand. Truly.\n' })),
  ],
  ['a missing file', 'manifest_mismatch', buildZip(without('notes.txt'))],
  ['an additional file', 'manifest_mismatch', buildZip(plus({ name: `${ROOT}data/more.txt`, data: '' }))],
  [
    'a changed record',
    'manifest_mismatch',
    buildZip(
      withChangedEntry('pack.json', { data: JSON.stringify(recordFor(SAMPLE_FILES, { title: 'Other' })) }),
    ),
  ],
  [
    'a changed manifest',
    'manifest_mismatch',
    buildZip(withChangedEntry('/manifest-sha256.txt', { data: '' })),
  ],
  ['a missing manifest', 'manifest_mismatch', buildZip(without('/manifest-sha256.txt'))],
  [
    'no manifest, and no tag manifest',
    'manifest_mismatch',
    buildZip(BAG.filter(({ name }) => !name.toString().includes('manifest-'))),
  ],
  ['a tag file that is listed and missing', 'manifest_mismatch', buildZip(without('bag-info.txt'))],
  ['a wrong digest', 'manifest_mismatch', buildZip(manifestWith((text) => text.replace(/^.{4}/, 'beef')))],
  [
    'a file listed twice',
    'manifest_mismatch',
    buildZip(manifestWith((text) => `${text}${text.split('\n')[0]}\n`)),
  ],
  ['a line without a digest', 'manifest_mismatch', buildZip(manifestWith((text) => `${text}# comment\n`))],
  ['a digest too short', 'manifest_mismatch', buildZip(manifestWith((text) => text.replace(/^..../, '')))],
  [
    'a line without a path',
    'manifest_mismatch',
    buildZip(manifestWith((text) => `${text}${'a'.repeat(64)}\n`)),
  ],
  ['an empty line', 'manifest_mismatch', buildZip(manifestWith((text) => text.replace('\n', '\n\n')))],
  [
    'a manifest that lists no file of data/',
    'manifest_mismatch',
    buildZip(manifestWith((text) => text.replaceAll('data/', './data/'))),
  ],
  [
    'a manifest that lists a tag file',
    'manifest_mismatch',
    buildZip(manifestWith((text) => `${text}${'a'.repeat(64)}  bagit.txt\n`)),
  ],
  [
    'an encoded line feed',
    'manifest_mismatch',
    buildZip(manifestWith((text) => text.replace('notes.txt', 'notes%0A.txt'))),
  ],
  [
    'a manifest in Latin-1',
    'invalid_pack_file',
    buildZip(manifestWith((text) => Buffer.from(text, 'latin1'))),
  ],
  [
    'a byte order mark in the manifest',
    'invalid_pack_file',
    buildZip(manifestWith((text) => `\ufeff${text}`)),
  ],
  ['a second manifest that is wrong', 'manifest_mismatch', buildZip(tagFile('manifest-md5.txt', ''))],
  [
    'a tag manifest that omits the manifest',
    'manifest_mismatch',
    buildZip(withChangedEntry('tagmanifest-sha256.txt', { data: '' })),
  ],
  [
    'a wrong count in bag-info.txt',
    'manifest_mismatch',
    buildZip(withTagFile('bag-info.txt', (text) => text.replace(/(Oxum: \d+)\.3/, '$1.4'))),
  ],

  // Declarations and records.
  [
    'a byte order mark in bagit.txt',
    'invalid_pack_file',
    buildZip(withTagFile('bagit.txt', (text) => `\ufeff${text}`)),
  ],
  [
    'an unknown BagIt version',
    'invalid_pack_file',
    buildZip(withTagFile('bagit.txt', (text) => text.replace('1.0', '2.0'))),
  ],
  [
    'tag files in UTF-16',
    'invalid_pack_file',
    buildZip(withTagFile('bagit.txt', (text) => text.replace('UTF-8', 'UTF-16'))),
  ],
  ['an empty bagit.txt', 'invalid_pack_file', buildZip(withTagFile('bagit.txt', () => ''))],
  ['a manifest without bagit.txt', 'invalid_pack_file', buildZip(withTagManifest(without('bagit.txt')))],
  ['no record', 'invalid_pack_file', buildZip(withTagManifest(without('pack.json')))],
  ['a ZIP of something else', 'invalid_pack_file', buildZip([{ name: 'holiday.jpg', data: 'x' }])],
  ['a record that is not JSON', 'invalid_pack_file', buildZip([{ name: 'pack.json', data: '{' }])],
  ['a key twice in the record', 'not_canonical', buildZip([{ name: 'pack.json', data: '{"a":1,"a":2}' }])],
  [
    'a record with unknown fields',
    'unknown_field',
    buildZip([{ name: 'pack.json', data: JSON.stringify({ ...recordFor({}), id: 'pk_1' }) }]),
  ],
  [
    'an invalid record',
    'invalid_field',
    buildZip([{ name: 'pack.json', data: JSON.stringify({ ...recordFor({}), title: '' }) }]),
  ],
  [
    'other terms',
    'terms_not_accepted',
    buildZip([
      { name: 'pack.json', data: JSON.stringify({ ...recordFor({}), terms_version: '2020-01-01' }) },
    ]),
  ],
  [
    'a record of more than 4 MiB',
    'body_too_large',
    () => buildZip([{ name: 'pack.json', data: Buffer.alloc(4_194_305, ' ') }]),
  ],
  [
    'a file that is not in the record',
    'files_mismatch',
    buildZip([...bareEntries(), { name: 'data/more.txt' }]),
  ],
  ['a file that is only in the record', 'files_mismatch', buildZip(bareEntries({}, recordFor(SAMPLE_FILES)))],
  [
    'bytes that do not match the record',
    'digest_mismatch',
    buildZip(bareEntries({ a: 'x' }, recordFor({ a: 'y' }))),
  ],
];

test.each(REFUSED)('a pack file is refused for %s: %s', async (_why, code, zip) => {
  expect(await pool.refusalOf(typeof zip === 'function' ? zip() : zip)).toBe(code);
  expect(await pool.leftOver()).toEqual([]);
});
