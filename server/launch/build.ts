import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

interface Target {
  /** The last files that a successful build writes. */
  outputs: string[];
  /** The files and folders that the outputs depend on. */
  sources: string[];
  command: string[];
}

const RENDERER: Target = {
  outputs: ['out/renderer/index.html'],
  sources: ['renderer', 'shared', 'vite.config.ts', 'package.json'],
  command: ['vite/bin/vite.js', 'build', '--logLevel', 'warn'],
};
const APP: Target = {
  outputs: ['out/main/main.js', 'out/preload/preload.cjs', 'out/renderer/index.html'],
  sources: [...RENDERER.sources, 'electron', 'server', 'electron.vite.config.ts'],
  command: ['electron-vite/bin/electron-vite.js', 'build', '--logLevel', 'warn'],
};

/**
 * Builds the interface, or the whole app, if it was never built or a source is newer.
 *
 * @throws Error with the output of the build
 */
export async function buildIfStale(what: 'renderer' | 'app', say: (line: string) => void): Promise<void> {
  const target = what === 'app' ? APP : RENDERER;
  if (isFresh(target)) return;
  say(what === 'app' ? 'Building the app …' : 'Building the interface …');
  if (what === 'app') await build(target.command);
  else await buildRenderer();
}

function isFresh({ outputs, sources }: Target): boolean {
  return oldest(outputs) >= Math.max(...sources.map(newest));
}

/** Builds into another folder and then swaps the folders, because running nodes may be serving the old interface. */
async function buildRenderer(): Promise<void> {
  const target = join(ROOT, 'out/renderer');
  const built = `${target}.${process.pid}`;
  const old = `${built}.old`;
  try {
    await build([...RENDERER.command, '--outDir', built]);
    // Another process may have built it meanwhile.
    if (isFresh(RENDERER)) return;
    if (statSync(target, { throwIfNoEntry: false })) renameSync(target, old);
    renameSync(built, target);
  } catch (error) {
    if (!isFresh(RENDERER)) throw error;
  } finally {
    for (const folder of [built, old]) rmSync(folder, { recursive: true, force: true });
  }
}

async function build([script = '', ...args]: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [join(ROOT, 'node_modules', script), ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`The build failed:\n${output.trim()}`);
}

/** Returns the time of the oldest output; 0 if one is missing. */
function oldest(paths: string[]): number {
  return Math.min(
    ...paths.map((path) => statSync(join(ROOT, path), { throwIfNoEntry: false })?.mtimeMs ?? 0),
  );
}

function newest(path: string): number {
  const full = join(ROOT, path);
  const stat = statSync(full);
  if (!stat.isDirectory()) return stat.mtimeMs;
  const within = readdirSync(full, { recursive: true, encoding: 'utf8' });
  return Math.max(stat.mtimeMs, ...within.map((name) => statSync(join(full, name)).mtimeMs));
}
