import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach } from 'vitest';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { closeTargets, testTarget } from './targetSuite.ts';

/** Another file system than that of the temporary folder. */
const MEMORY = '/dev/shm';

const outside: string[] = [];
afterEach(async () => {
  closeTargets();
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
