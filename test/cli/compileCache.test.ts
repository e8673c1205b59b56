import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const CLI = fileURLToPath(new URL('../../server/cli.ts', import.meta.url));
/** Prints the folder of Node's compile cache, and the environment variable for threads, when a process exits. */
const PRINT_AT_EXIT = `data:text/javascript,import { getCompileCacheDir } from 'node:module';
  process.on('exit', () => console.error(JSON.stringify(
    { folder: getCompileCacheDir(), variable: process.env.NODE_COMPILE_CACHE })));`;

/** Runs `strongroom --version` and returns what was printed at its exit. */
async function versionWith(set: NodeJS.ProcessEnv): Promise<{ folder?: string; variable?: string }> {
  const { NODE_COMPILE_CACHE: _ours, ...env } = process.env;
  const child = spawn(process.execPath, ['--import', PRINT_AT_EXIT, CLI, '--version'], {
    env: { ...env, ...set },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code, output).toBe(0);
  return JSON.parse(output) as { folder?: string; variable?: string };
}

test('a command uses a compile cache in the checkout, and its threads find it', async () => {
  const { folder, variable } = await versionWith({});
  expect(variable).toMatch(/node_modules.\.cache.strongroom$/);
  expect(folder?.startsWith(variable + sep), folder).toBe(true);
});

test('a command uses no compile cache if Node’s is disabled', async () => {
  expect((await versionWith({ NODE_DISABLE_COMPILE_CACHE: '1' })).folder).toBeUndefined();
});
