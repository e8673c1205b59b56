import { afterAll, beforeAll, expect, test } from 'vitest';
import { bareEntries, plus, ROOT, recordFor, withChangedEntry } from '../../support/archive/packFiles.ts';
import { filesOf } from '../../support/archive/packs.ts';
import { type BuiltEntry, buildZip, extraField } from '../../support/archive/zipBuilder.ts';
import { openPool, type Pool, type Refused } from '../../support/refusals.ts';

let pool: Pool;
beforeAll(async () => {
  pool = await openPool();
});
afterAll(() => pool.close());

/** A plain ZIP that is valid except for the name of one file, which the record has too. */
function named(name: string): BuiltEntry[] {
  const files = { [name]: 'x' };
  return bareEntries(files, { ...recordFor({}), files: filesOf(files) });
}

/** The extra field in which Info-ZIP repeats the name. */
function unicodePath(name: string, crc: number): Buffer {
  const header = Buffer.alloc(5);
  header[0] = 1;
  header.writeUInt32LE(crc, 1);
  return extraField(0x7075, Buffer.concat([header, Buffer.from(name)]));
}

/** What Info-ZIP for Unix reads in the field 0x756e: a CRC, the mode of a symbolic link, the length of its target. */
const UNIX_LINK = Buffer.from('00000000ffa1000000000000', 'hex');

const REFUSED: Refused[] = [
  // Paths that leave the folder, or mean different files on different systems.
  ['an absolute path', 'unsafe_path', buildZip(plus({ name: '/etc/passwd' }))],
  ['a drive letter', 'unsafe_path', buildZip(plus({ name: 'C:/x' }))],
  ['a path through ..', 'unsafe_path', buildZip(plus({ name: `${ROOT}data/../../x` }))],
  ['.. alone', 'unsafe_path', buildZip(plus({ name: '..' }))],
  ['a folder outside', 'unsafe_path', buildZip(plus({ name: '../' }))],
  ['a segment .', 'unsafe_path', buildZip(plus({ name: `${ROOT}./data/x` }))],
  ['an empty segment', 'unsafe_path', buildZip(plus({ name: `${ROOT}data//x` }))],
  ['a backslash', 'unsafe_path', buildZip(plus({ name: `${ROOT}data\\..\\x` }))],
  ['a NUL in a name', 'unsafe_path', buildZip(plus({ name: `${ROOT}data/x\0.txt` }))],
  ['no name at all', 'unsafe_path', buildZip(plus({ name: '' }))],
  ['a name as long as a ZIP allows', 'unsafe_path', buildZip(plus({ name: 'a/'.repeat(32_000) }))],
  ['a path of 1,025 bytes', 'unsafe_path', buildZip(named('x'.repeat(1025)))],
  ['a control character', 'unsafe_path', buildZip(named('a\u0007b'))],
  ['a line feed, percent-encoded in the manifest', 'unsafe_path', buildZip(named('a\nb'))],
  ['a percent sign', 'unsafe_path', buildZip(named('100%.txt'))],
  ['a name that is not in normal form C', 'unsafe_path', buildZip(named('su\u0308d.csv'))],
  ['a Windows device name', 'unsafe_path', buildZip(named('aux.txt'))],
  ['a name that ends in a dot', 'unsafe_path', buildZip(named('x.'))],

  // Names in other encodings.
  [
    'Latin-1 with the UTF-8 flag',
    'invalid_name_encoding',
    buildZip(plus({ name: Buffer.from([0x64, 0xe4]) })),
  ],
  [
    'Latin-1 without the UTF-8 flag',
    'invalid_name_encoding',
    buildZip(plus({ name: Buffer.from([0xe4]), flags: 0 })),
  ],
  [
    'a surrogate in UTF-8',
    'invalid_name_encoding',
    buildZip(plus({ name: Buffer.from([0xed, 0xa0, 0x80]) })),
  ],
  [
    'a different second name by Info-ZIP',
    'invalid_name_encoding',
    buildZip(withChangedEntry('notes.txt', { central: { extra: unicodePath('other.txt', 0) } })),
  ],
  [
    'a second name only in the local header',
    'invalid_name_encoding',
    buildZip(withChangedEntry('notes.txt', { local: { extra: unicodePath('other.txt', 0) } })),
  ],

  // Entries that are not regular files.
  ['a symbolic link', 'symlink_entry', buildZip(withChangedEntry('notes.txt', { mode: 0o120777 }))],
  [
    'a symbolic link marked as made on DOS',
    'symlink_entry',
    buildZip(withChangedEntry('notes.txt', { mode: 0o120777, madeBy: 20 })),
  ],
  [
    'a symbolic link to a folder',
    'symlink_entry',
    buildZip(plus({ name: `${ROOT}data/to/`, mode: 0o120777 })),
  ],
  [
    'a Windows junction',
    'symlink_entry',
    buildZip(withChangedEntry('notes.txt', { externalAttributes: 0x420, madeBy: 20 })),
  ],
  ['a named pipe', 'invalid_pack_file', buildZip(withChangedEntry('notes.txt', { mode: 0o010644 }))],
  ['a device', 'invalid_pack_file', buildZip(withChangedEntry('notes.txt', { mode: 0o060644 }))],
  [
    'a file marked as a folder',
    'invalid_pack_file',
    buildZip(withChangedEntry('notes.txt', { mode: 0o040755 })),
  ],
  ['a folder with bytes', 'invalid_pack_file', buildZip(plus({ name: `${ROOT}data/f/`, data: 'x' }))],

  // All signs of encryption.
  ['an encrypted entry', 'encrypted_entry', buildZip(withChangedEntry('notes.txt', { flags: 0x0801 }))],
  [
    'an encrypted, deflated entry',
    'encrypted_entry',
    buildZip(withChangedEntry('notes.txt', { flags: 0x0801, method: 8 })),
  ],
  ['strong encryption', 'encrypted_entry', buildZip(withChangedEntry('notes.txt', { flags: 0x0841 }))],
  [
    'only the flag of strong encryption',
    'encrypted_entry',
    buildZip(withChangedEntry('notes.txt', { flags: 0x0840 })),
  ],
  ['a hidden directory', 'encrypted_entry', buildZip(withChangedEntry('notes.txt', { flags: 0x2800 }))],
  [
    'the compression method of AES',
    'encrypted_entry',
    buildZip(withChangedEntry('notes.txt', { method: 99 })),
  ],
  [
    'the extra field of AES',
    'encrypted_entry',
    buildZip(withChangedEntry('notes.txt', { central: { extra: extraField(0x9901, Buffer.alloc(7)) } })),
  ],

  // Fields with which other programs extract something else.
  ...[0x756e, 0x000d, 0x6c78, 0x4342].flatMap((id): Refused[] => [
    [
      `the extra field 0x${id.toString(16)}`,
      'invalid_pack_file',
      buildZip(withChangedEntry('notes.txt', { central: { extra: extraField(id, UNIX_LINK) } })),
    ],
    [
      `the extra field 0x${id.toString(16)} before the data`,
      'invalid_pack_file',
      buildZip(withChangedEntry('notes.txt', { local: { extra: extraField(id, UNIX_LINK) } })),
    ],
  ]),
  [
    'a name in UTF-8 that is not marked as that, made on DOS',
    'invalid_name_encoding',
    buildZip(named('straße').map((entry) => ({ ...entry, flags: 0, madeBy: 20 }))),
  ],

  // Two entries with the same name.
  ['the same name twice', 'duplicate_entry', buildZip(plus({ name: `${ROOT}data/notes.txt`, data: 'y' }))],
  ['two records', 'duplicate_entry', buildZip(plus({ name: `${ROOT}pack.json`, data: '{}' }))],
  ['names that differ in case', 'duplicate_entry', buildZip(plus({ name: `${ROOT}data/NOTES.txt` }))],
  [
    'names that differ only in Unicode normalization',
    'duplicate_entry',
    buildZip(plus({ name: `${ROOT}data/readings/su\u0308d.csv` })),
  ],
  [
    'ß and its uppercase form SS',
    'duplicate_entry',
    buildZip([...named('straße'), { name: 'data/STRASSE' }]),
  ],
  ['a file and a folder', 'duplicate_entry', buildZip(plus({ name: `${ROOT}data/notes.txt/more` }))],
  ['a file and an empty folder', 'duplicate_entry', buildZip(plus({ name: `${ROOT}data/Notes.txt/` }))],
];

test.each(REFUSED)('a pack file is refused for %s: %s', async (_why, code, zip) => {
  expect(await pool.refusalOf(typeof zip === 'function' ? zip() : zip)).toBe(code);
  expect(await pool.leftOver()).toEqual([]);
});
