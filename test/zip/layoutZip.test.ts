import { execFileSync } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { ZipLayout } from '../../server/zip/layoutZip.ts';
import { storedZip } from '../../server/zip/writeZip.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

afterEach(closeTestNodes);

interface SmallFile {
  name: string;
  content: Buffer;
}

function layoutOf(files: readonly SmallFile[]): ZipLayout {
  const contentOf = (file: number) => files[file]?.content ?? Buffer.alloc(0);
  return new ZipLayout({
    count: files.length,
    nameOf: (file) => files[file]?.name ?? '',
    nameBytesOf: (file) => Buffer.byteLength(files[file]?.name ?? ''),
    bytesOf: (file) => contentOf(file).length,
    crcOf: async (file) => crc32(contentOf(file)),
    async *read(file, { start, end }) {
      yield contentOf(file).subarray(start, end + 1);
    },
  });
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  return Buffer.concat(pieces);
}

test('it has the bytes that a small ZIP has, in any ranges', async () => {
  const files = ['a', 'größe/b.txt', 'c'].map((name, index) => ({
    name,
    content: Buffer.alloc(index * 700, index),
  }));
  const layout = layoutOf(files);
  const expected = await bytesOf(
    storedZip(
      files.map(({ name, content }) => ({
        name,
        bytes: content.length,
        crc: crc32(content),
        async *read({ start, end }) {
          yield content.subarray(start, end + 1);
        },
      })),
    ).read(),
  );
  expect((await bytesOf(layout.read())).equals(expected)).toBe(true);
  expect(layout.bytes).toBe(expected.length);
  for (const size of [1, 7, 100, 1_000])
    for (let start = 0; start < expected.length; start += size * 13) {
      const end = Math.min(start + size, expected.length) - 1;
      expect((await bytesOf(layout.read({ start, end }))).equals(expected.subarray(start, end + 1))).toBe(
        true,
      );
    }
});

test('more entries than 16 bits count are listed', async () => {
  const files = Array.from({ length: 65_600 }, (_, index) => ({
    name: `${index}`,
    content: Buffer.from(`${index}`),
  }));
  const layout = layoutOf(files);
  const file = join(await temporaryFolder(), 'many.zip');
  const handle = await open(file, 'w');
  // Only the directory: reading every file takes seconds. The rest of the file is sparse.
  const start = files.reduce((sum, { name, content }) => sum + 30 + name.length + content.length, 0);
  const directory = await bytesOf(layout.read({ start, end: layout.bytes - 1 }));
  await handle.write(directory, 0, directory.length, start);
  await handle.close();
  const script = 'import sys, zipfile; print(len(set(zipfile.ZipFile(sys.argv[1]).namelist())))';
  expect(execFileSync('python3', ['-c', script, file], { encoding: 'utf8' })).toBe('65600\n');
});

test('a file of 5 GB, and one after it, are read by Python', async () => {
  const large = 5_000_000_000;
  const last = Buffer.from('the last one');
  const layout = new ZipLayout({
    count: 2,
    nameOf: (file) => ['large', 'last'][file] ?? '',
    nameBytesOf: (file) => ['large', 'last'][file]?.length ?? 0,
    bytesOf: (file) => [large, last.length][file] ?? 0,
    crcOf: async (file) => (file === 0 ? 0 : crc32(last)),
    async *read(file, { start, end }) {
      yield file === 0 ? Buffer.alloc(end - start + 1) : last.subarray(start, end + 1);
    },
  });
  // Only what is not zero is written: the file is sparse.
  const header = 30 + 'large'.length + 20;
  const file = join(await temporaryFolder(), 'large.zip');
  const handle = await open(file, 'w');
  await handle.write(await bytesOf(layout.read({ start: 0, end: header - 1 })), 0);
  const rest = await bytesOf(layout.read({ start: header + large, end: layout.bytes - 1 }));
  await handle.write(rest, 0, rest.length, header + large);
  await handle.close();
  const script = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    print([(i.filename, i.file_size, i.header_offset) for i in z.infolist()])
    print(z.read('last').decode(), z.open('large').read(4))
`;
  expect(execFileSync('python3', ['-c', script, file], { encoding: 'utf8' })).toBe(
    `[('large', ${large}, 0), ('last', 12, ${header + large})]\nthe last one b'\\x00\\x00\\x00\\x00'\n`,
  );
});
