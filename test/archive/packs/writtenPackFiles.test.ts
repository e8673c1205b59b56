import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { bagOf } from '../../../server/archive/packs/bag/bag.ts';
import { readPackFile } from '../../../server/archive/packs/file/readPackFile.ts';
import { writePackFile } from '../../../server/archive/packs/file/writePackFile.ts';
import { ChangedFileError } from '../../../server/zip/writeZip.ts';
import { filePathFault, foldedPath } from '../../../shared/archive/filePath.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { FULL_RECORD, recordFor, SAMPLE_FILES } from '../../support/archive/packFiles.ts';
import { type Files, sha256Of } from '../../support/archive/packs.ts';
import { writtenPackFile } from '../../support/archive/writtenPackFile.ts';
import { extract } from '../../support/extract.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';

afterEach(closeTestNodes);

test('a record gives these bytes, on every machine and in every release that writes version 2 (decision 7)', async () => {
  const bytes = await writtenPackFile(FULL_RECORD, SAMPLE_FILES);
  expect(sha256Of(bytes)).toBe('097ae96760180061ea197c1dfc35cf06184041b76ca20bf204be0cec75355625');
});

test('the manifests of a bag list the digest of every other file', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'x.pack.zip'), await writtenPackFile(FULL_RECORD, SAMPLE_FILES));
  await extract(join(folder, 'x.pack.zip'), folder);
  const bag = join(folder, bagOf(FULL_RECORD).id);
  for (const [manifest, count] of [
    ['manifest-sha256.txt', 3],
    ['tagmanifest-sha256.txt', 5],
  ] as const) {
    const lines = (await readFile(join(bag, manifest), 'utf8')).trimEnd().split('\n');
    expect(lines).toHaveLength(count);
    for (const line of lines) {
      const [digest, path = ''] = line.split('  ');
      expect(sha256Of(await readFile(join(bag, path))), path).toBe(digest);
    }
  }
});

test('every entry is uncompressed, dated 1980, without extra fields, with CRC and sizes before its data', async () => {
  const bytes = await writtenPackFile(FULL_RECORD, SAMPLE_FILES);
  let at = 0;
  let entries = 0;
  for (; bytes.readUInt32LE(at) === 0x04034b50; entries += 1) {
    expect(bytes.readUInt16LE(at + 6)).toBe(0x0800);
    expect(bytes.readUInt16LE(at + 8)).toBe(0);
    expect([bytes.readUInt16LE(at + 10), bytes.readUInt16LE(at + 12)]).toEqual([0, 33]);
    expect(bytes.readUInt32LE(at + 18)).toBe(bytes.readUInt32LE(at + 22));
    expect(bytes.readUInt16LE(at + 28)).toBe(0);
    at += 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt32LE(at + 18);
  }
  expect(entries).toBe(6 + FULL_RECORD.files.length);
  expect(bytes.readUInt32LE(at)).toBe(0x02014b50);
});

test('a record without files gives a bag with an empty data/', async () => {
  const record = recordFor({});
  const folder = await temporaryFolder();
  const file = join(folder, 'x.zip');
  const bytes = await writtenPackFile(record, {});
  await writeFile(file, bytes);
  expect(bytes.includes(`${bagOf(record).id}/data/`)).toBe(true);
  expect((await readPackFile(file, RECEIVER)).checked.record).toEqual(record);
});

test('does not write a pack file if a file does not match the record', async () => {
  await expect(
    writtenPackFile(FULL_RECORD, { ...SAMPLE_FILES, 'notes.txt': 'Other bytes.' }),
  ).rejects.toMatchObject({
    code: 'blob_damaged',
  });
});

test('the stream fails if a file changes between the two reads', async () => {
  let readings = 0;
  const record = recordFor({ a: 'first' });
  const output = writePackFile(record, {
    read: async function* () {
      readings += 1;
      yield Buffer.from(readings === 1 ? 'first' : 'other');
    },
  });
  const zip = output.zip(await output.check());
  await expect(text(zip.read())).rejects.toBeInstanceOf(ChangedFileError);
});

const RECEIVER = {
  receive: async (chunks: AsyncIterable<Uint8Array>) => {
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks) parts.push(chunk);
    const content = Buffer.concat(parts);
    return { content, sha256: sha256Of(content), bytes: content.length };
  },
  discard: async () => {},
};

const segment = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .filter((name) => !name.includes('/'));
const path = fc
  .array(segment, { minLength: 1, maxLength: 4 })
  .map((segments) => segments.join('/').normalize('NFC'))
  .filter((name) => filePathFault(name) === undefined);
const files = fc
  .uniqueArray(fc.tuple(path, fc.uint8Array({ maxLength: 300 })), {
    maxLength: 8,
    selector: ([name]) => foldedPath(name).split('/')[0],
  })
  .map((entries): Files => Object.fromEntries(entries.map(([name, bytes]) => [name, new Uint8Array(bytes)])));
const words = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 100 })
  .filter((value) => value.isWellFormed());
const fields = fc.record({
  title: words,
  summary: fc.oneof(fc.constant(''), words),
  keywords: fc.array(words, { maxLength: 3 }),
  authors: fc.array(fc.record({ name: words, affiliation: fc.oneof(fc.constant(''), words) }), {
    minLength: 1,
    maxLength: 3,
  }),
  results: fc.dictionary(
    words,
    fc.oneof(
      words,
      fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Number.isInteger(value)),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
    ),
    { maxKeys: 4 },
  ),
  license: fc.constantFrom('CC-BY-4.0' as const, 'CC0-1.0' as const),
});

test('any record and files can be read back unchanged, and give the same bytes when written again', async () => {
  const folder = await temporaryFolder();
  await fc.assert(
    fc.asyncProperty(fields, files, async (some, contents) => {
      const record = recordFor(contents, some);
      const bytes = await writtenPackFile(record, contents);
      expect(bytes.equals(await writtenPackFile(record, contents))).toBe(true);
      const file = join(folder, 'x.zip');
      await writeFile(file, bytes);
      const { checked, files: taken } = await readPackFile(file, RECEIVER);
      expect(checked.text).toBe(canonicalText(record));
      expect([...taken.keys()].sort()).toEqual(Object.keys(contents).sort());
      for (const [name, { content }] of taken)
        expect(content.equals(Buffer.from(contents[name] ?? ''))).toBe(true);
    }),
    { numRuns: 60 },
  );
});
