import { mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { nodeKeyOf, openCheckpoint, privateKeyOfSeed } from '../../server/ledger/checkpoint.ts';
import { Checkpoints } from '../../server/ledger/checkpoints.ts';
import { problemOf, uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';

afterEach(closeTestNodes);

const key = nodeKeyOf('node.local/strongroom', privateKeyOfSeed(Buffer.alloc(32, 7)));
const root = Buffer.alloc(32, 1);

async function storedSizeIn(folder: string): Promise<number> {
  return openCheckpoint(await readFile(join(folder, 'checkpoint'), 'utf8'), key.verifierKey).size;
}

test('a checkpoint at least as large is stored before one is returned', async () => {
  const folder = await temporaryFolder();
  const checkpoints = new Checkpoints({ folder, key, storedSize: -1 });
  const sizes = [3, 9, 4, 12, 12, 1];
  await Promise.all(
    sizes.map(async (size) => {
      const note = await checkpoints.sign({ size, root });
      expect(openCheckpoint(note, key.verifierKey).size).toBe(size);
      expect(await storedSizeIn(folder)).toBeGreaterThanOrEqual(size);
    }),
  );
  expect(await storedSizeIn(folder)).toBe(12);
});

test('a checkpoint that cannot be stored is not returned, and later is once it can be', async () => {
  const folder = await temporaryFolder();
  const gone = `${folder}.gone`;
  const checkpoints = new Checkpoints({ folder, key, storedSize: -1 });
  await checkpoints.sign({ size: 1, root });
  // A folder of its name cannot be replaced by a file.
  await rename(join(folder, 'checkpoint'), gone);
  await mkdir(join(folder, 'checkpoint', 'in the way'), { recursive: true });
  await expect(checkpoints.sign({ size: 2, root })).rejects.toThrow();
  expect(openCheckpoint(await checkpoints.sign({ size: 1, root }), key.verifierKey).size).toBe(1);
  await rename(join(folder, 'checkpoint'), `${gone}-too`);
  await checkpoints.sign({ size: 2, root });
  expect(await storedSizeIn(folder)).toBe(2);
});

/** Everything that publishes a checkpoint. */
const PUBLISHED: Record<string, (node: TestNode) => Promise<Response>> = {
  'the checkpoint': (node) => node.fetch('/api/ledger/checkpoint'),
  'the checkpoint of the static log': (node) => node.fetch('/log/checkpoint'),
  'a proof as a file': (node) => node.fetch('/api/ledger/proof?seq=1&format=tlog-proof'),
  'a dump': (node) => node.fetch('/api/dump.jsonl'),
};

test.each(Object.keys(PUBLISHED))('%s is sent only if its checkpoint is stored', async (what) => {
  const node = await openTestNode();
  await uploadNewPack(node);
  const file = join(node.dataFolder, 'checkpoint');
  const request = () => PUBLISHED[what]?.(node) ?? Promise.reject(new Error(what));
  const before = await readFile(file, 'utf8');
  expect(before.split('\n')[1]).toBe('0');
  expect((await request()).status).toBe(200);
  expect((await readFile(file, 'utf8')).split('\n')[1]).toBe('1');
  await uploadNewPack(node, { title: 'second' });
  await rename(file, `${file}.aside`);
  await mkdir(join(file, 'in the way'), { recursive: true });
  expect(await problemOf(request())).toMatchObject({ status: 500 });
});
