import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import type { HashedFile } from '../../server/hashing/hashFileSync.ts';
import { hashInThreads } from '../../server/hashing/hashInThreads.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { sha256Of } from '../support/packs.ts';

afterEach(closeTestNodes);

const contentOf = (number: number) => `The content of file ${number}.`;

async function filesIn(folder: string, count: number) {
  const files = Array.from({ length: count }, (_, number) => ({
    path: join(folder, `${number}.txt`),
    algorithms: ['sha256'],
    bytes: contentOf(number).length,
  }));
  for (const [number, { path }] of files.entries()) await writeFile(path, contentOf(number));
  return files;
}

async function collect(results: AsyncIterable<HashedFile>): Promise<HashedFile[]> {
  const collected: HashedFile[] = [];
  for await (const result of results) collected.push(result);
  return collected;
}

/** Hashes the files in threads that run this code. */
async function hashWith(folder: string, code: string) {
  const thread = join(folder, 'thread.mjs');
  await writeFile(thread, `import { parentPort } from 'node:worker_threads';\n${code}`);
  return collect(hashInThreads(await filesIn(folder, 4), () => {}, pathToFileURL(thread)));
}

test('files are hashed in order', async () => {
  const files = await filesIn(await temporaryFolder(), 20);
  let read = 0;
  const hashed = await collect(hashInThreads(files, (bytes) => (read += bytes)));
  expect(hashed).toEqual(
    files.map(({ path }, number) => ({
      path,
      bytes: contentOf(number).length,
      digests: { sha256: sha256Of(contentOf(number)) },
    })),
  );
  expect(read).toBe(hashed.reduce((sum, file) => sum + ('bytes' in file ? file.bytes : 0), 0));
});

test('a thread that ends without an error is reported, not awaited forever', async () => {
  const folder = await temporaryFolder();
  const hashed = hashWith(folder, "parentPort.on('message', () => process.exit(3));");
  await expect(hashed).rejects.toThrow('ended early with code 3');
});

test('the error of a thread is reported', async () => {
  const folder = await temporaryFolder();
  const hashed = hashWith(folder, "throw new Error('The thread fails.');");
  await expect(hashed).rejects.toThrow('The thread fails.');
});
