import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type BagFile, tagFileLines } from '../../server/archive/packs/bag/tagFiles.ts';
import { type Finding, Tally } from '../../server/verification/report.ts';
import { verifyPaths } from '../../server/verification/verifyPaths.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

afterEach(closeTestNodes);

/** Creates a bag with these files and the given manifest. */
async function bagWith(manifest: string, files: Record<string, string>): Promise<string> {
  const bag = join(await temporaryFolder(), 'bag');
  const tags = {
    'bagit.txt': 'BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n',
    'manifest-sha256.txt': manifest,
  };
  for (const [path, text] of Object.entries({ ...files, ...tags })) {
    await mkdir(dirname(join(bag, path)), { recursive: true });
    await writeFile(join(bag, path), text);
  }
  return bag;
}

async function verdicts(bag: string): Promise<Map<string, Finding>> {
  const found = new Map<string, Finding>();
  for await (const batch of verifyPaths({ paths: [bag] }))
    for (const each of batch) found.set(each.path.slice(bag.length + 1), each);
  return found;
}

test('a manifest of many megabytes is read to its end', async () => {
  const digest = sha256Of('intact');
  const missing = Array.from({ length: 9_000 }, (_, index) => `data/${'long/'.repeat(400)}${index}`);
  const manifest = [...missing, 'data/ä'].map((path) => `${digest}  ${path}\n`).join('');
  expect(manifest.length).toBeGreaterThan(17_000_000);
  const bag = await bagWith(manifest, { 'data/ä': 'intact' });
  const found = await verdicts(bag);
  expect(found.get('data/ä')?.state).toBe('intact');
  const tally = new Tally();
  for (const each of found.values()) tally.add(each);
  expect(tally.summary).toMatchObject({ missing: 9_000, changed: 0 });
});

test('a manifest of far more files than the bag has is refused, also if several share them', async () => {
  const detail = 'manifest-sha256.txt lists far more files than the bag has.';
  const linesOf = (digest: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${digest}  data/${index}\n`).join('');
  const one = await bagWith(linesOf(sha256Of('intact'), 501_000), { 'data/0': 'intact' });
  expect([...(await verdicts(one)).values()]).toMatchObject([{ path: one, state: 'changed', detail }]);
  const both = await bagWith(linesOf(sha256Of('intact'), 251_000), {
    'data/0': 'intact',
    'manifest-md5.txt': linesOf('0'.repeat(32), 251_000),
  });
  expect([...(await verdicts(both)).values()]).toMatchObject([
    {
      path: both,
      state: 'changed',
      detail: expect.stringContaining('lists far more files than the bag has.'),
    },
  ]);
}, 60_000);

test.each(['\n', '\r', '\r\n'])('lines may end with %j at any read boundary', async (end) => {
  const lines = ['data/é', '', 'data/😀', 'x', ''];
  for (const last of ['', end]) {
    const bytes = Buffer.from(lines.join(end) + end + (last ? '' : 'rest'));
    for (let size = 1; size <= bytes.length; size += 1) {
      const read: string[] = [];
      for await (const some of tagFileLines('x', cutInto(bytes, size), 100)) read.push(...some);
      expect(read, `cut into ${size}`).toEqual(last ? lines : [...lines, 'rest']);
    }
  }
});

function cutInto(bytes: Buffer, size: number): BagFile {
  return {
    bytes: bytes.length,
    async *read() {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    },
  };
}

test('a manifest with an overlong line is invalid and not read to its end', async () => {
  const bag = await bagWith('a'.repeat(3_000_000), {});
  const [found] = [...(await verdicts(bag)).values()];
  expect([found?.state, found?.detail]).toEqual([
    'changed',
    'manifest-sha256.txt has a line that is longer than any valid path.',
  ]);
});
