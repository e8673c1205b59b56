import { execFile } from 'node:child_process';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { GO_OF_DEBIAN, goFolder, requireGo } from '../support/go.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';

afterEach(closeTestNodes);

const run = promisify(execFile);

test('Go’s own package verifies every entry and an older checkpoint from the tiles', async ({ skip }) => {
  await requireGo(skip);
  const node = await openTestNode();
  const record = async (from: number, to: number) => {
    for (let seq = from; seq <= to; seq += 1)
      await node.sendJson('POST', '/api/nodes', { path: `n${seq}`, title: 'n' });
    return (await node.fetch('/log/checkpoint')).text();
  };
  const { cwd, env } = await goFolder();
  await copyFile(join(import.meta.dirname, 'readTiles.go'), join(cwd, 'readTiles.go'));
  await run('go', ['build', 'readTiles.go'], { cwd, env: { ...env, ...GO_OF_DEBIAN } });

  const older = await record(1, 200);
  await record(201, 300);
  await writeFile(join(cwd, 'node.key'), await (await node.fetch('/api/ledger/key')).text());
  await writeFile(join(cwd, 'older.checkpoint'), older);
  const prefix = new URL('/log/', node.url).href;
  const { stdout } = await run('./readTiles', [prefix, 'node.key', 'older.checkpoint'], { cwd });
  expect(stdout).toBe('300 200\n');
});
