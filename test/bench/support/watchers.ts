import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Returns whether a program is installed. */
export function hasProgram(name: string): boolean {
  return spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined;
}

/** Fetches every URL once with `wget --warc-file`, over one persistent connection, into a new folder. */
export async function runWget(folder: string, urls: readonly string[]): Promise<void> {
  await mkdir(folder);
  const list = join(folder, 'urls.txt');
  await writeFile(list, `${urls.join('\n')}\n`);
  await run('wget', ['--input-file', list, '--warc-file', 'pass', '--delete-after', '--quiet'], folder);
}

/** Configures urlwatch for these URLs, without reports; each call of the result is one pass. */
export async function urlwatch(folder: string, urls: readonly string[]): Promise<() => Promise<void>> {
  await mkdir(folder);
  const file = (name: string) => join(folder, name);
  await writeFile(file('urls.yaml'), urls.map((url) => `kind: url\nurl: ${url}\n`).join('---\n'));
  await writeFile(file('urlwatch.yaml'), 'report: {stdout: {enabled: false, color: false}}\n');
  const places = [
    '--urls',
    file('urls.yaml'),
    '--config',
    file('urlwatch.yaml'),
    '--cache',
    file('cache.db'),
  ];
  return () => run('urlwatch', [...places, '--hooks', file('hooks.py')], folder);
}

async function run(program: string, args: string[], cwd: string): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${said}`);
}
