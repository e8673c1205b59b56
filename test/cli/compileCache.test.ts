import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const CLI = fileURLToPath(new URL('../../server/cli.ts', import.meta.url));
/** Says at the end of a process where Node keeps what it compiles, and what threads are told of it. */
const TELL_AT_END = `data:text/javascript,import { getCompileCacheDir } from 'node:module';
  process.on('exit', () => console.error(JSON.stringify(
    { keptIn: getCompileCacheDir(), told: process.env.NODE_COMPILE_CACHE })));`;

/** Runs `strongroom --version` and answers with what was told at its end. */
async function versionWith(set: NodeJS.ProcessEnv): Promise<{ keptIn?: string; told?: string }> {
  const { NODE_COMPILE_CACHE: _ours, ...env } = process.env;
  const child = spawn(process.execPath, ['--import', TELL_AT_END, CLI, '--version'], {
    env: { ...env, ...set },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (told += text));
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code, told).toBe(0);
  return JSON.parse(told) as { keptIn?: string; told?: string };
}

test('a command keeps what Node compiled in the checkout, and its threads find it', async () => {
  const { keptIn, told } = await versionWith({});
  expect(told).toMatch(/node_modules.\.cache.strongroom$/);
  expect(keptIn?.startsWith(told + sep), keptIn).toBe(true);
});

test('a command keeps nothing where Node is told not to', async () => {
  expect((await versionWith({ NODE_DISABLE_COMPILE_CACHE: '1' })).keptIn).toBeUndefined();
});
