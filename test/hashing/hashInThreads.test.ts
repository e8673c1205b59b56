import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { type HashedFile, hashInThreads, type SizedFile } from '../../server/hashing/hashInThreads.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';

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

async function collect(batches: AsyncIterable<HashedFile[]>): Promise<HashedFile[]> {
  const collected: HashedFile[] = [];
  for await (const batch of batches) collected.push(...batch);
  return collected;
}

/** Hashes the files in threads that run this code. */
async function hashWith(folder: string, code: string) {
  const thread = join(folder, 'thread.mjs');
  await writeFile(thread, `import { parentPort } from 'node:worker_threads';\n${code}`);
  return collect(hashInThreads([await filesIn(folder, 4)], () => {}, pathToFileURL(thread)));
}

test('files are hashed in order', async () => {
  const files = await filesIn(await temporaryFolder(), 20);
  let read = 0;
  const hashed = await collect(hashInThreads([files], (bytes) => (read += bytes)));
  expect(hashed).toEqual(
    files.map(({ path }, number) => ({
      path,
      bytes: contentOf(number).length,
      digests: { sha256: sha256Of(contentOf(number)) },
    })),
  );
  expect(read).toBe(hashed.reduce((sum, file) => sum + ('bytes' in file ? file.bytes : 0), 0));
});

test('files that need different digests, long files and missing ones are hashed together', async () => {
  const folder = await temporaryFolder();
  const files = (await filesIn(folder, 6)).map((file, number) => ({
    ...file,
    algorithms: number % 2 === 0 ? ['sha256'] : ['md5', 'sha512'],
  }));
  const [first, second, third] = files;
  if (!first || !second || !third) throw new Error('There are six files.');
  const long = [0, 1].map((more) => 'x'.repeat(262_144 + more));
  await rm(first.path);
  await writeFile(second.path, long[0] ?? '');
  await writeFile(third.path, long[1] ?? '');
  const hashed = await collect(hashInThreads([files], () => {}));
  expect(hashed[0]).toEqual({ path: first.path, failure: 'ENOENT' });
  const digests = (algorithm: string, text = '') => createHash(algorithm).update(text).digest('hex');
  expect(hashed[1]).toEqual({
    path: second.path,
    bytes: 262_144,
    digests: { md5: digests('md5', long[0]), sha512: digests('sha512', long[0]) },
  });
  expect(hashed[2]).toMatchObject({ bytes: 262_145, digests: { sha256: digests('sha256', long[1]) } });
  expect(hashed[5]).toMatchObject({ digests: { md5: digests('md5', contentOf(5)) } });
});

test('threads wait until the results of earlier files are taken', async () => {
  const folder = await temporaryFolder();
  const [file] = await filesIn(folder, 1);
  // Each is a batch of its own.
  const files = Array<SizedFile>(500).fill({
    ...(file as SizedFile),
    bytes: 2_000_000,
  });
  let read = 0;
  const batches = hashInThreads([files], (bytes) => (read += bytes));
  await batches.next();
  // Those that were taken, and 64 more.
  const most = 65 * contentOf(0).length;
  await eventually(() => expect(read).toBe(most));
  await batches.return(undefined);
  expect(read).toBe(most);
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

test('the error of the source is reported', async () => {
  const files = await filesIn(await temporaryFolder(), 2);
  async function* failing() {
    yield files;
    await Promise.reject(new Error('The folder vanished.'));
  }
  await expect(collect(hashInThreads(failing(), () => {}))).rejects.toThrow('The folder vanished.');
});

test('files are hashed while the source still finds others', async () => {
  const folder = await temporaryFolder();
  const [file] = await filesIn(folder, 1);
  const files = Array<SizedFile>(600).fill(file as SizedFile);
  const more = Promise.withResolvers<void>();
  async function* waiting() {
    yield files;
    await more.promise;
    yield files;
  }
  const batches = hashInThreads(waiting(), () => {});
  const first = await batches.next();
  more.resolve();
  const rest = await collect(batches);
  expect((first.value?.length ?? 0) + rest.length).toBe(1_200);
});
