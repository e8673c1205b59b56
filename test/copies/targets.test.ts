import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { contractOf } from '../../server/copies/targets/contract.ts';
import { openTarget } from '../../server/copies/targets/openTarget.ts';
import { CopyError, type RawTarget } from '../../server/copies/targets/target.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { closeTargets, testTarget } from './targetSuite.ts';

/** Another file system than that of the temporary folder. */
const MEMORY = '/dev/shm';

const outside: string[] = [];
afterEach(async () => {
  await closeTargets();
  await closeTestNodes();
  for (const folder of outside.splice(0)) await rm(folder, { recursive: true, force: true });
});

testTarget('a folder', async () => ({ target: pathToFileURL(join(await temporaryFolder(), 'copy')).href }));

if (existsSync(MEMORY))
  testTarget('a folder on another file system', async () => {
    const folder = await mkdtemp(join(MEMORY, 'strongroom-test-'));
    outside.push(folder);
    return { target: pathToFileURL(folder).href };
  });

test('a large file that is being read is let go when that is cancelled, or when the copy is closed', async () => {
  const folder = join(await temporaryFolder(), 'copy');
  await mkdir(folder);
  await writeFile(join(folder, 'large'), '');
  await truncate(join(folder, 'large'), 2 ** 33);
  const target = await openTarget({ target: pathToFileURL(folder).href });
  const cancelled = new AbortController();
  const reading = target.digestOf('large', cancelled.signal);
  cancelled.abort(new Error('cancelled'));
  await expect(reading).rejects.toThrow('cancelled');
  await expect(target.digestOf('large', cancelled.signal)).rejects.toThrow('cancelled');
  const another = target.digestOf('large', undefined);
  await target.close();
  await expect(another).rejects.toThrow();
});

test('a file whose disk fails before anybody reads it ends no process, and fails for its reader', async () => {
  const failed = new Readable({ read: () => undefined });
  const raw: Pick<RawTarget, 'name' | 'read' | 'sentenceOf'> = {
    name: 'The disk',
    read: async () => failed,
    sentenceOf: () => undefined,
  };
  const stream = await contractOf(raw as RawTarget).read('a', undefined);
  failed.destroy(new Error('i/o error'));
  await nextTurn();
  await nextTurn();
  await expect(stream?.toArray()).rejects.toThrow(CopyError);
});
