import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  BAG,
  bagEntries,
  bareEntries,
  DIRECTORY_START,
  directoryBytes,
  manifestOf,
  manifestWith,
  ROOT,
  recordFor,
  SAMPLE_FILES,
  tagFile,
  VALID_PACK_FILE,
  without,
  withTagFile,
  withTagManifest,
} from '../../support/archive/packFiles.ts';
import { buildZip, dataDescriptor, zip64End } from '../../support/archive/zipBuilder.ts';
import { openPool, type Pool } from '../../support/refusals.ts';

let pool: Pool;
beforeAll(async () => {
  pool = await openPool();
});
afterAll(() => pool.close());

const ACCEPTED: [what: string, zip: Buffer][] = [
  ['a bag in a folder', VALID_PACK_FILE],
  [
    'a bag in a folder with another name',
    buildZip(BAG.map((entry) => ({ ...entry, name: entry.name.toString().replace(ROOT, 'My pack (2)/') }))),
  ],
  [
    'a bag at the top level',
    buildZip(BAG.map((entry) => ({ ...entry, name: entry.name.toString().replace(ROOT, '') }))),
  ],
  ['a plain ZIP', buildZip(bareEntries())],
  [
    'a plain ZIP in a folder',
    buildZip(bareEntries().map((entry) => ({ ...entry, name: `x/${entry.name.toString()}` }))),
  ],
  ['a record without files', buildZip(bareEntries({}))],
  ['a bag without files', buildZip(bagEntries({}))],
  [
    'entries for folders',
    buildZip([{ name: ROOT }, { name: `${ROOT}data/` }, ...BAG, { name: `${ROOT}data/empty/` }]),
  ],
  ['deflated entries', buildZip(BAG.map((entry) => ({ ...entry, method: 8 })))],
  [
    'sizes after the data',
    buildZip(
      BAG.map((entry) => ({
        ...entry,
        flags: 0x0808,
        local: { crc: 0, compressed: 0, uncompressed: 0 },
        behind: dataDescriptor(entry.data ?? ''),
      })),
    ),
  ],
  [
    'sizes after the data without a signature',
    buildZip(
      BAG.map((entry) => ({
        ...entry,
        flags: 0x0808,
        behind: dataDescriptor(entry.data ?? '', { signed: false }),
      })),
    ),
  ],
  [
    'names in UTF-8 without the UTF-8 flag, as Info-ZIP writes them',
    buildZip(BAG.map((entry) => ({ ...entry, flags: 0 }))),
  ],
  [
    'entries without a Unix mode',
    buildZip(BAG.map((entry) => ({ ...entry, madeBy: 20, externalAttributes: 0x20 }))),
  ],
  ['a comment', buildZip(BAG, { comment: Buffer.from('Tide levels') })],
  [
    'a consistent ZIP64 end record',
    buildZip(BAG, {
      before: zip64End({
        entries: BAG.length,
        directoryBytes: directoryBytes(BAG),
        directoryStart: DIRECTORY_START,
      }),
    }),
  ],
  [
    'tag files with CRLF',
    buildZip(
      withTagManifest(
        BAG.map((entry) =>
          /\/(bag|manifest)[^/]*\.txt$/.test(entry.name.toString())
            ? { ...entry, data: entry.data?.toString().replaceAll('\n', '\r\n') }
            : entry,
        ),
      ),
    ),
  ],
  ['BagIt 0.97', buildZip(withTagFile('bagit.txt', (text) => text.replace('1.0', '0.97')))],
  [
    'uppercase digests and asterisks',
    buildZip(
      manifestWith((text) =>
        text.replaceAll(/^(\S+) {2}/gm, (_all, digest: string) => `${digest.toUpperCase()} *`),
      ),
    ),
  ],
  ['a manifest without its last line end', buildZip(manifestWith((text) => text.trimEnd()))],
  ['no tag manifest', buildZip(BAG.filter(({ name }) => !name.toString().includes('tagmanifest-')))],
  ['no bag-info.txt', buildZip(withTagManifest(without('bag-info.txt')))],
  [
    'a record with spaces and another key order',
    buildZip(
      bareEntries(SAMPLE_FILES, Object.fromEntries(Object.entries(recordFor(SAMPLE_FILES)).reverse())),
    ),
  ],
  [
    'matching manifests of several algorithms',
    buildZip(withTagManifest(tagFile('manifest-md5.txt', manifestOf(SAMPLE_FILES, 'md5')), 'sha512')),
  ],
];

test.each(ACCEPTED)('accepts a pack file with %s', async (_what, zip) => {
  expect(await pool.refusalOf(zip)).toBeUndefined();
});
