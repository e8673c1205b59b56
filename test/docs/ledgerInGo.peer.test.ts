import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { codeBlocksOf } from '../support/docs.ts';
import { GO_OF_DEBIAN, goFolder, requireGo } from '../support/go.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';

afterEach(closeTestNodes);

const run = promisify(execFile);
const PROGRAM = 'opencheckpoint.go';

/** A folder that holds the document’s Go program, and the environment that Go is run in. */
async function programFolder(): Promise<{ cwd: string; env: NodeJS.ProcessEnv }> {
  const folder = await goFolder();
  await writeFile(join(folder.cwd, PROGRAM), (await codeBlocksOf('ledger.md', 'go')).get(PROGRAM) ?? '');
  return folder;
}

describe('Go’s own package opens checkpoints', () => {
  test('the test vector, and only unaltered', async ({ skip }) => {
    await requireGo(skip);
    const { cwd, env } = await programFolder();
    const files = await codeBlocksOf('ledger.md', 'text');
    for (const [name, text] of files) await writeFile(join(cwd, name), text);
    const altered = (files.get('vector.checkpoint') ?? '').replace('\n3\n', '\n4\n');
    await writeFile(join(cwd, 'altered.checkpoint'), altered);
    await run('go', ['build', '-o', 'opener', PROGRAM], { cwd, env: { ...env, ...GO_OF_DEBIAN } });

    const { stdout } = await run('./opener', ['vector.key', 'vector.checkpoint'], { cwd });
    expect(stdout).toBe('node.local/strongroom\n3\nNmQuc8JUCrEh46a/lUWwokmCzYMOsT080Z3jzmwCHsE=\n');
    await expect(run('./opener', ['vector.key', 'altered.checkpoint'], { cwd })).rejects.toThrow(
      'invalid signature',
    );
  });

  test('the checkpoint of a node with the key of the node', async ({ skip }) => {
    await requireGo(skip);
    const node = await openTestNode();
    for (const path of ['a', 'b']) await node.sendJson('POST', '/api/nodes', { path, title: path });
    const { cwd, env } = await programFolder();
    const commands = (await codeBlocksOf('ledger.md', 'sh')).get('go') ?? 'exit 9';
    const { stdout } = await run('sh', ['-ec', commands], { cwd, env: { ...env, NODE: node.url } });
    const { head } = (await (await node.fetch('/api/ledger')).json()) as { head: { root: string } };
    const [name, size, root] = stdout.split('\n');
    expect(name).toMatch(/^node-/);
    expect([size, Buffer.from(root ?? '', 'base64').toString('hex')]).toEqual(['2', head.root]);
  });
});
