import { deflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  BAG,
  bareEntries,
  changed,
  DIRECTORY_START,
  directoryBytes,
  plus,
  ROOT,
  recordFor,
  VALID_PACK_FILE,
  withChangedEntry,
} from '../../support/archive/packFiles.ts';
import { buildZip, dataDescriptor, extraField, zip64End } from '../../support/archive/zipBuilder.ts';
import { openPool, type Pool, type Refused } from '../../support/refusals.ts';

let pool: Pool;
beforeAll(async () => {
  pool = await openPool();
});
afterAll(() => pool.close());

/** Larger than a pack may be, but tiny when compressed. */
const ZEROS = Buffer.alloc(60_000_000);

const SIZE_64 = extraField(1, Buffer.alloc(16));

const REFUSED: Refused[] = [
  // Sizes and ratios.
  [
    'a ZIP bomb with its true size',
    'excessive_compression',
    () => buildZip([...bareEntries({}), { name: 'data/zeros', data: ZEROS, method: 8 }]),
  ],
  [
    'two files that are too large together',
    'excessive_compression',
    () => {
      const half = ZEROS.subarray(0, 30_000_000);
      return buildZip([
        ...bareEntries({}),
        { name: 'data/a', data: half, method: 8 },
        { name: 'data/b', data: half, method: 8 },
      ]);
    },
  ],
  [
    'a ZIP bomb that declares a small size',
    'excessive_compression',
    () =>
      buildZip(
        bareEntries({ zeros: '' }, recordFor({ zeros: '' })).map((entry) =>
          entry.name === 'data/zeros'
            ? { ...entry, method: 8, raw: deflateRawSync(ZEROS), both: { uncompressed: 10 } }
            : entry,
        ),
      ),
  ],
  [
    'an impossible compression ratio',
    'excessive_compression',
    buildZip(
      withChangedEntry('notes.txt', { method: 8, raw: deflateRawSync('x'), both: { uncompressed: 40_000 } }),
    ),
  ],
  [
    'fewer bytes than declared',
    'invalid_pack_file',
    buildZip(changed(bareEntries(), 'notes.txt', () => ({ method: 8, both: { uncompressed: 30 } }))),
  ],
  ['a wrong CRC', 'invalid_pack_file', buildZip(withChangedEntry('notes.txt', { both: { crc: 1 } }))],
  [
    'bytes hidden after deflated data',
    'invalid_pack_file',
    buildZip(
      withChangedEntry('notes.txt', {
        method: 8,
        raw: Buffer.concat([deflateRawSync('Measured by hand.\n'), Buffer.from('hidden')]),
      }),
    ),
  ],
  [
    'invalid deflated data',
    'invalid_pack_file',
    buildZip(withChangedEntry('notes.txt', { method: 8, raw: Buffer.alloc(18, 0xff) })),
  ],
  [
    'deflated data that ends early',
    'invalid_pack_file',
    buildZip(
      withChangedEntry('notes.txt', { method: 8, raw: deflateRawSync('Measured by hand.\n').subarray(0, 9) }),
    ),
  ],
  [
    'an unsupported compression method',
    'invalid_pack_file',
    buildZip(withChangedEntry('notes.txt', { method: 12 })),
  ],
  [
    'more entries than a pack can have',
    'invalid_pack_file',
    () => buildZip(Array.from({ length: 15_001 }, (_, index) => ({ name: `data/${index}/` }))),
  ],

  // Inconsistent archives.
  ['no bytes', 'invalid_pack_file', Buffer.alloc(0)],
  ['text', 'invalid_pack_file', Buffer.from('This is no ZIP, but as long as the end record of one.')],
  ['an empty ZIP', 'invalid_pack_file', buildZip([])],
  ['a ZIP without its end', 'invalid_pack_file', VALID_PACK_FILE.subarray(0, -30)],
  ['a ZIP without its last byte', 'invalid_pack_file', VALID_PACK_FILE.subarray(0, -1)],
  [
    'a ZIP with its middle removed',
    'invalid_pack_file',
    Buffer.concat([VALID_PACK_FILE.subarray(0, 500), VALID_PACK_FILE.subarray(900)]),
  ],
  ['bytes before the ZIP', 'invalid_pack_file', Buffer.concat([Buffer.from('#!/bin/sh\n'), VALID_PACK_FILE])],
  [
    'bytes before the first entry',
    'invalid_pack_file',
    buildZip(withChangedEntry('bagit.txt', { before: Buffer.from('MZ') })),
  ],
  ['bytes after the ZIP', 'invalid_pack_file', Buffer.concat([VALID_PACK_FILE, Buffer.from('x')])],
  [
    'bytes between entries',
    'invalid_pack_file',
    buildZip(withChangedEntry('notes.txt', { before: Buffer.from('hidden') })),
  ],
  [
    'an entry that is not in the directory',
    'invalid_pack_file',
    buildZip(withChangedEntry('notes.txt', { before: buildZip([{ name: 'x', data: 'y' }]).subarray(0, 32) })),
  ],
  [
    'bytes between the directory and the end',
    'invalid_pack_file',
    buildZip(BAG, { before: Buffer.from('hidden') }),
  ],
  [
    'an entry that is only in the directory',
    'invalid_pack_file',
    buildZip(plus({ name: `${ROOT}data/x`, onlyInDirectory: true })),
  ],
  [
    'two entries that share their data',
    'invalid_pack_file',
    buildZip(plus({ name: `${ROOT}data/x`, onlyInDirectory: true, offset: 0 })),
  ],
  ['an entry within another', 'invalid_pack_file', buildZip(withChangedEntry('notes.txt', { offset: 40 }))],
  [
    'an entry beyond the end of the file',
    'invalid_pack_file',
    buildZip(withChangedEntry('notes.txt', { offset: 0xffff_fff0 })),
  ],
  [
    'a different name in the local header',
    'invalid_pack_file',
    buildZip(withChangedEntry('notes.txt', { local: { name: Buffer.from(`${ROOT}data/other.txt`) } })),
  ],
  [
    'an unsafe name in the local header',
    'unsafe_path',
    buildZip(withChangedEntry('notes.txt', { local: { name: Buffer.from('../other.txt') } })),
  ],
  [
    'a different size in the local header',
    'invalid_pack_file',
    buildZip(withChangedEntry('notes.txt', { local: { uncompressed: 17 } })),
  ],
  [
    'a different CRC in the local header',
    'invalid_pack_file',
    buildZip(withChangedEntry('notes.txt', { local: { crc: 7 } })),
  ],
  [
    'a different method in the local header',
    'invalid_pack_file',
    buildZip(withChangedEntry('notes.txt', { local: { method: 8 } })),
  ],
  [
    'the encryption flag only in the local header',
    'encrypted_entry',
    buildZip(withChangedEntry('notes.txt', { local: { flags: 0x0801 } })),
  ],
  [
    'sizes after the data that differ from the directory',
    'invalid_pack_file',
    buildZip(withChangedEntry('notes.txt', { flags: 0x0808, behind: dataDescriptor('Measured by foot.\n') })),
  ],
  [
    'missing sizes after the data',
    'invalid_pack_file',
    buildZip(withChangedEntry('notes.txt', { flags: 0x0808 })),
  ],
  [
    'two sizes for stored data',
    'invalid_pack_file',
    buildZip(withChangedEntry('notes.txt', { both: { uncompressed: 17 } })),
  ],
  [
    'an extra field that is too long',
    'invalid_pack_file',
    buildZip(withChangedEntry('notes.txt', { central: { extra: Buffer.from([1, 0, 99, 0, 0]) } })),
  ],
  ['several disks', 'invalid_pack_file', buildZip(BAG, { disk: 1, directoryDisk: 1 })],
  [
    'some entries on another disk',
    'invalid_pack_file',
    buildZip(BAG, { entriesHere: 1, entries: BAG.length }),
  ],
  ['more entries than the directory has', 'invalid_pack_file', buildZip(BAG, { entries: BAG.length + 1 })],
  ['fewer entries than the directory has', 'invalid_pack_file', buildZip(BAG, { entries: BAG.length - 1 })],
  ['a wrong position of the directory', 'invalid_pack_file', buildZip(BAG, { directoryStart: 0 })],
  ['a directory larger than the file', 'invalid_pack_file', buildZip(BAG, { directoryBytes: 0xffff_fff0 })],
  ['a second end record in the comment', 'invalid_pack_file', buildZip(BAG, { comment: buildZip([]) })],
  [
    'a ZIP64 end record with another number of entries',
    'invalid_pack_file',
    buildZip(BAG, {
      before: zip64End({ entries: 1, directoryBytes: directoryBytes(BAG), directoryStart: DIRECTORY_START }),
    }),
  ],
  [
    'a ZIP64 locator that points elsewhere',
    'invalid_pack_file',
    buildZip(BAG, {
      before: zip64End({
        entries: BAG.length,
        directoryBytes: directoryBytes(BAG),
        directoryStart: DIRECTORY_START,
        at: 0,
      }),
    }),
  ],
  ...(['both', 'local', 'central'] as const).map(
    (headers): Refused => [
      `two ZIP64 sizes (${headers})`,
      'invalid_pack_file',
      buildZip(withChangedEntry('notes.txt', { [headers]: { extra: Buffer.concat([SIZE_64, SIZE_64]) } })),
    ],
  ),
  [
    'a ZIP64 size that exceeds a double',
    'excessive_compression',
    buildZip(
      withChangedEntry('notes.txt', {
        central: { uncompressed: 0xffff_ffff, extra: extraField(1, Buffer.alloc(8, 0xff)) },
      }),
    ),
  ],
];

test.each(REFUSED)('a pack file is refused for %s: %s', async (_why, code, zip) => {
  expect(await pool.refusalOf(typeof zip === 'function' ? zip() : zip)).toBe(code);
  expect(await pool.leftOver()).toEqual([]);
});
