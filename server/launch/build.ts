import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

interface Target {
  name: string;
  /** The last files that a successful build writes. */
  outputs: string[];
  /** The files and folders that the outputs depend on. */
  sources: string[];
  /**
   * Writes into the folder of the previous build and removes nothing: a running node still loads parts of its own build,
   * whose names contain a hash.
   */
  command: string[];
}

const RENDERER: Target = {
  name: 'interface',
  outputs: ['out/renderer/index.html', 'out/strongroom-extension.zip'],
  sources: ['renderer', 'shared', 'package.json'],
  command: ['vite/bin/vite.js', 'build', 'renderer', '--emptyOutDir', 'false', '--logLevel', 'warn'],
};
/** The server in a few files, which Node loads in a third of the time of its sources. */
const SERVER: Target = {
  name: 'server',
  outputs: ['out/server/cli.js'],
  sources: ['server', 'shared', 'electron', 'package.json'],
  command: ['vite/bin/vite.js', 'build', '--config', 'server/launch/bundle.config.ts', '--logLevel', 'error'],
};
const APP: Target = {
  name: 'app',
  outputs: ['out/main/main.js', 'out/preload/preload.cjs', 'out/renderer/index.html'],
  sources: [...RENDERER.sources, 'electron', 'server', 'electron.vite.config.ts'],
  command: ['electron-vite/bin/electron-vite.js', 'build', '--logLevel', 'warn'],
};
const TARGETS = { renderer: RENDERER, server: SERVER, app: APP };

/** The files that a build of the server makes. */
export const BUILT_SERVER = join(ROOT, 'out/server/cli.js');
export const BUILT_ARCHIVE = join(ROOT, 'out/server/openArchive.js');

/**
 * Builds the interface, the server or the whole app, if it was never built or a source is newer.
 *
 * @throws Error with the output of the build
 */
export async function buildIfStale(what: keyof typeof TARGETS, say: (line: string) => void): Promise<void> {
  const { name, outputs, sources, command } = TARGETS[what];
  if (oldest(outputs) >= Math.max(...sources.map(newest))) return;
  say(`Building the ${name} …`);
  await build(command);
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

/** Returns the time of the newest file or folder. It is called for a thousand files at each start. */
function newest(path: string): number {
  const full = join(ROOT, path);
  const time = statSync(full, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return path.includes('.') ? time : newestWithin(full, time);
}

function newestWithin(folder: string, time: number): number {
  let latest = time;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = `${folder}/${entry.name}`;
    latest = Math.max(latest, statSync(file).mtimeMs);
    if (entry.isDirectory()) latest = newestWithin(file, latest);
  }
  return latest;
}
