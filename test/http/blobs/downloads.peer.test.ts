import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { SAMPLE_FILES } from '../../support/archive/packFiles.ts';
import { uploadNewPack } from '../../support/archive/packs.ts';
import { EXTRACTORS, run } from '../../support/extract.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../../support/node.ts';
import { requirePrograms } from '../../support/requirements.ts';

afterEach(closeTestNodes);

async function downloadablePack() {
  const node = await openTestNode();
  const { id } = await uploadNewPack(node, {}, SAMPLE_FILES);
  const url = `${node.url}/api/packs/${id}/file`;
  return { node, url, bytes: Buffer.from(await (await fetch(url)).arrayBuffer()) };
}

const DOWNLOADERS: Record<string, (url: string) => string[]> = {
  curl: (url) => ['-sS', '-f', '-C', '-', '-o', 'x.pack.zip', url],
  wget: (url) => ['-q', '-c', '-O', 'x.pack.zip', url],
};

test.for(Object.keys(DOWNLOADERS))('%s resumes the download of a pack file', async (program, { skip }) => {
  await requirePrograms([program], skip);
  const { url, bytes } = await downloadablePack();
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'x.pack.zip'), bytes.subarray(0, 1_000));
  await run(program, DOWNLOADERS[program]?.(url) ?? [], folder);
  expect((await readFile(join(folder, 'x.pack.zip'))).equals(bytes)).toBe(true);
});

test.for(Object.keys(EXTRACTORS))('%s extracts a downloaded pack file', async (program, { skip }) => {
  await requirePrograms([program], skip);
  const { bytes } = await downloadablePack();
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'x.pack.zip'), bytes);
  await run(program, EXTRACTORS[program]?.('x.pack.zip') ?? [], folder);
});

test('curl decodes the coding that it asked for', async ({ skip }) => {
  await requirePrograms(['curl'], skip);
  const { node } = await downloadablePack();
  const args = ['-sS', '-f', '--compressed', `${node.url}/api/packs`];
  expect(JSON.parse(await run('curl', args, await temporaryFolder()))).toMatchObject({ total: 1 });
});
