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

test('a node whose lock file is removed, or made anew, still keeps others out; when it is killed, nothing does', async () => {
  const folder = join(await temporaryFolder(), 'data');
  const node = await serveNode(folder);
  running = node;
  await rm(join(folder, 'lock'));
  const second = await runCommand(['serve', '--port', '0', '--data', folder]);
  expect(second).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Another Strongroom has') as string,
  });
  // The file that the second one made is there now; so it is after this.
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
