import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const SERVER = resolve(import.meta.dirname, '../../server');

/** Runs a program in a process of its own and returns what it prints as JSON. */
async function printedBy(code: string, ...args: string[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    code,
    '--',
    ...args,
  ]);
  return JSON.parse(stdout) as string[];
}

test('the modules of a node do not load Node’s own copy of undici, which would slow down every start', async () => {
  const loaded = await printedBy(
    'await import(process.argv[1]); console.log(JSON.stringify(process.moduleLoadList));',
    join(SERVER, 'node.ts'),
  );
  expect(loaded).toContain('NativeModule http');
  expect(loaded.filter((name) => name.includes('undici'))).toEqual([]);
});

test.each(['verification/verifyPaths.ts', 'hashing/hashThread.worker.ts', 'cli/main.ts'])(
  '%s loads no library for schemas, which would take longer than its work',
  async (file) => {
    const loaded = await printedBy(
      `import { registerHooks } from 'node:module';
       const urls = [];
       registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context); } });
       await import(process.argv[1]).catch(() => {});
       console.log(JSON.stringify(urls));
       process.exit();`,
      join(SERVER, file),
    );
    expect(loaded.some((url) => url.endsWith(file))).toBe(true);
    expect(loaded.filter((url) => url.includes('node_modules'))).toEqual([]);
  },
);
