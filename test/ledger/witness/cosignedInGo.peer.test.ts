import { execFile } from 'node:child_process';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { GO_OF_DEBIAN, goFolder, requireGo } from '../../support/go.ts';
import { closeTestNodes, openTestNode } from '../../support/node.ts';

afterEach(closeTestNodes);

const run = promisify(execFile);

test('Go’s own package opens a checkpoint that a witness cosigned', async ({ skip }) => {
  await requireGo(skip);
  const [log, witness] = [await openTestNode(), await openTestNode()];
  const textOf = async (node: typeof log, path: string) => (await node.fetch(path)).text();
  const [logKey, key] = [await textOf(log, '/api/ledger/key'), await textOf(witness, '/witness/key')];
  await witness.sendJson('POST', '/manage/witness/logs', { key: logKey.trim() });
  const witnesses = [{ url: new URL('/witness', witness.url).href, key: key.trim() }];
  await log.sendJson('PATCH', '/manage/settings', { witnesses });
  await log.sendJson('POST', '/api/nodes', { path: 'a', title: 'A' });
  const { cwd, env } = await goFolder();
  const cosigned = async () => {
    await writeFile(join(cwd, 'checkpoint'), await textOf(log, '/log/checkpoint'));
    return (await run('./openCosigned', ['log.key', 'witness.key', 'checkpoint'], { cwd })).stdout;
  };
  await writeFile(join(cwd, 'log.key'), logKey);
  await writeFile(join(cwd, 'witness.key'), key);
  await copyFile(join(import.meta.dirname, 'openCosigned.go'), join(cwd, 'openCosigned.go'));
  await run('go', ['build', 'openCosigned.go'], { cwd, env: { ...env, ...GO_OF_DEBIAN } });

  expect(await cosigned()).toBe('1 0 1\n');
  await log.fetchAsOwner('/manage/witnesses/submit', { method: 'POST' });
  expect(await cosigned()).toBe('2 0 1\n');
});
