import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAsset } from '../../server/copies/pages/buildAssets.ts';
import { end, serveNode } from '../support/cli.ts';
import { temporaryFolder } from '../support/node.ts';

const root = resolve(import.meta.dirname, '../..');

let checkout: string;

/** A checkout that was never built. */
beforeAll(async () => {
  checkout = await temporaryFolder();
  const configs = ['package.json', 'tsconfig.json', 'CHANGELOG.md'];
  const parts = ['server', 'shared', 'renderer', 'electron', ...configs];
  for (const part of parts) await cp(join(root, part), join(checkout, part), { recursive: true });
  await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'));
});
afterAll(async () => rm(checkout, { recursive: true, force: true }));

interface Started {
  npm: ChildProcess;
  url: string;
  /** The process of the node. */
  pid: number;
  data: string;
  errors: () => string;
}

/** Runs `npm run strongroom -- serve`, in its own terminal if requested. */
async function serveByNpm({ terminal = false } = {}): Promise<Started> {
  const data = join(await temporaryFolder(), 'data');
  const serve = ['run', '-s', 'strongroom', '--', 'serve', '--json', '--port', '0', '--no-collect'];
  const words = [...serve, '--data', data];
  const npm = terminal
    ? spawnIn(checkout, 'script', ['--quiet', '--return', '/dev/null', '--command', `npm ${words.join(' ')}`])
    : spawnIn(checkout, 'npm', words);
  let errors = '';
  npm.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  for await (const line of createInterface({ input: npm.stdout })) {
    if (!line.startsWith('{')) continue;
    const { url, pid } = JSON.parse(line) as { url: string; pid: number };
    npm.stdout.resume();
    return { npm, url, pid, data, errors: () => errors };
  }
  throw new Error(`The node did not start: ${errors}`);
}

/** Starts a process in a group of its own, as a shell does for each command that a person types. */
function spawnIn(cwd: string, program: string, args: string[]) {
  return spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
}

/** Waits until the node has exited, and requires that its folder was released. */
async function expectEnded({ pid, data }: Started): Promise<void> {
  try {
    await expect.poll(() => isRunning(pid)).toBe(false);
  } finally {
    if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  }
  // A node that was closed in order has removed its endpoint file.
  expect(existsSync(join(data, 'listening'))).toBe(false);
  expect(await end(await serveNode(data), 'SIGTERM')).toBe(0);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const AS_BROWSER = { headers: { Accept: 'text/html' }, redirect: 'manual' } as const;

describe('npm run strongroom -- serve', () => {
  test('builds the interface if the checkout has none, and exits with npm', async () => {
    const node = await serveByNpm();
    expect(node.errors()).toContain('Building the interface …');
    expect(node.errors()).toContain('Building the server …');
    expect(existsSync(join(checkout, 'out/server/cli.js'))).toBe(true);
    const page = await fetch(node.url, AS_BROWSER);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>Strongroom')]);
    node.npm.kill('SIGTERM');
    await expectEnded(node);
  });

  test.each(['SIGINT', 'SIGKILL'] as const)(
    'does not build it again, and exits with npm (%s)',
    async (signal) => {
      const node = await serveByNpm();
      expect(node.errors()).not.toContain('Building');
      // Ctrl-C in a terminal reaches the whole group; SIGKILL reaches npm alone.
      if (signal === 'SIGINT') process.kill(-(node.npm.pid ?? Number.NaN), signal);
      else node.npm.kill(signal);
      await expectEnded(node);
    },
  );

  // Only Linux has a `script` with these options. Elsewhere the test ends npm without a terminal.
  test('closes in order when its terminal is closed', async () => {
    const node = await serveByNpm({ terminal: process.platform === 'linux' });
    node.npm.kill('SIGKILL');
    await expectEnded(node);
  });

  test('makes a copy with pages for readers', async () => {
    const node = await serveByNpm();
    const Authorization = `Bearer ${await readFile(join(node.data, 'owner-token'), 'utf8')}`;
    const send = (path: string, body: object) =>
      fetch(node.url + path, {
        method: 'POST',
        headers: { Authorization, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
    const place = join(await temporaryFolder(), 'copy');
    const added = await send('/manage/copies', { target: pathToFileURL(place).href, pages: true });
    const { id } = (await added.json()) as { id: string };
    const synced = await send(`/manage/copies/${id}/sync?wait=true`, {});
    expect([synced.status, node.errors()]).toEqual([200, '']);
    // The build that the node runs from has the same scripts and the same style as one from the sources.
    const assets = await readdir(join(place, 'assets'));
    expect(assets.sort((left, right) => (left < right ? -1 : 1))).toEqual([
      'icon.svg',
      'mono.woff2',
      'pages.css',
      'search.js',
      'serif.woff2',
      'text.woff2',
      'verify.js',
    ]);
    for (const name of assets)
      expect(await readFile(join(place, 'assets', name))).toEqual(await readAsset(name));
    node.npm.kill('SIGTERM');
    await expectEnded(node);
  });

  test('builds it again if a source is newer', async () => {
    const { mtime } = await stat(join(checkout, 'out/renderer/index.html'));
    const later = new Date(mtime.getTime() + 1000);
    await utimes(join(checkout, 'renderer/index.html'), later, later);
    const node = await serveByNpm();
    expect(node.errors()).toContain('Building the interface …');
    node.npm.kill('SIGTERM');
    await expectEnded(node);
  });

  test('builds the server again if a source is newer, and leaves the files that a running node may load', async () => {
    const { mtime } = await stat(join(checkout, 'out/server/cli.js'));
    const kept = join(checkout, 'out/server/part-of-a-running-node.js');
    await writeFile(kept, '');
    const later = new Date(mtime.getTime() + 1000);
    await utimes(join(checkout, 'server/cli.ts'), later, later);
    const node = await serveByNpm();
    expect(node.errors()).toContain('Building the server …');
    expect(existsSync(kept)).toBe(true);
    node.npm.kill('SIGTERM');
    await expectEnded(node);
  });

  test('runs the sources if the server cannot be built', async () => {
    const config = join(checkout, 'server/launch/bundle.config.ts');
    const text = await readFile(config, 'utf8');
    await writeFile(config, 'throw new Error("It cannot be built.");');
    const node = await serveByNpm();
    await writeFile(config, text);
    expect(node.errors()).toContain('The server runs from its sources, because it could not be built.');
    expect((await fetch(`${node.url}/api/health`)).status).toBe(200);
    node.npm.kill('SIGTERM');
    await expectEnded(node);
  });

  test('serves everything except pages if the build fails, and keeps the sign-in link usable', async () => {
    await rm(join(checkout, 'out'), { recursive: true });
    const config = await readFile(join(checkout, 'renderer/vite.config.ts'), 'utf8');
    await writeFile(join(checkout, 'renderer/vite.config.ts'), 'throw new Error("It cannot be built.");');
    const node = await serveByNpm();
    await writeFile(join(checkout, 'renderer/vite.config.ts'), config);
    expect(node.errors()).toContain('The interface is not served, because it could not be built.');
    expect((await fetch(`${node.url}/api/health`)).status).toBe(200);
    const headers = { Authorization: `Bearer ${await readFile(join(node.data, 'owner-token'), 'utf8')}` };
    const made = await fetch(`${node.url}/manage/sign-in-links`, { method: 'POST', headers });
    const { url } = (await made.json()) as { url: string };
    expect((await fetch(url, AS_BROWSER)).status).toBe(503);
    expect((await fetch(url, { redirect: 'manual' })).status).toBe(303);
    node.npm.kill('SIGTERM');
    await expectEnded(node);
  });
});
