import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { end, runCommand, type ServedNode, serveNode } from '../support/cli.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';

let running: ServedNode | undefined;
afterEach(async () => {
  if (running) await end(running, 'SIGKILL');
  running = undefined;
  await closeTestNodes();
});

test('a running node keeps others out even if its lock file is removed or replaced; a killed one does not', async () => {
  const folder = join(await temporaryFolder(), 'data');
  const node = await serveNode(folder);
  running = node;
  await rm(join(folder, 'lock'));
  const second = await runCommand(['serve', '--port', '0', '--data', folder]);
  expect(second).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Another Strongroom has') as string,
  });
  // The second process created a new lock file; replace it too.
  await rm(join(folder, 'lock'));
  await writeFile(join(folder, 'lock'), '');
  await expect(openTestNode({ dataFolder: folder })).rejects.toThrow('Another Strongroom has');
  const headers = {
    Authorization: `Bearer ${await readFile(node.token_file, 'utf8')}`,
    'Content-Type': 'application/json',
  };
  const body = JSON.stringify({ path: 'kept', title: 'Kept' });
  const added = await fetch(`${node.url}/api/nodes`, { method: 'POST', headers, body });
  expect(added.status).toBe(201);
  await end(node, 'SIGKILL');
  running = undefined;
  const third = await openTestNode({ dataFolder: folder });
  expect((await third.fetch('/api/nodes/kept')).status).toBe(200);
});
