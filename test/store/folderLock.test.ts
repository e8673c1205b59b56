import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { end, runCommand, type ServedNode, serveNode } from '../support/cli.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';

let folder: string;
let running: ServedNode;
beforeEach(async () => {
  folder = join(await temporaryFolder(), 'data');
  running = await serveNode(folder);
});
afterEach(async () => {
  await end(running, 'SIGKILL');
  await closeTestNodes();
});

test('a running node keeps another process out even if its lock file is removed', async () => {
  await rm(join(folder, 'lock'));
  expect(await runCommand(['serve', '--port', '0', '--data', folder])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Another Strongroom has') as string,
  });
});

test('a running node keeps others out even if its lock file is replaced', async () => {
  await rm(join(folder, 'lock'));
  await writeFile(join(folder, 'lock'), '');
  await expect(openTestNode({ dataFolder: folder })).rejects.toThrow('Another Strongroom has');
});

test('a killed node keeps nobody out, and what it answered is there', async () => {
  const headers = {
    Authorization: `Bearer ${await readFile(running.token_file, 'utf8')}`,
    'Content-Type': 'application/json',
  };
  const body = JSON.stringify({ path: 'kept', title: 'Kept' });
  const added = await fetch(`${running.url}/api/nodes`, { method: 'POST', headers, body });
  expect(added.status).toBe(201);
  await end(running, 'SIGKILL');
  const next = await openTestNode({ dataFolder: folder });
  expect((await next.fetch('/api/nodes/kept')).status).toBe(200);
});
