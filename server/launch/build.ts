import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

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
  sources: ['renderer', 'shared', 'vite.config.ts', 'vite.evidence.ts', 'package.json'],
  command: ['vite/bin/vite.js', 'build', '--logLevel', 'warn'],
};
/** The server in a few files, which Node loads in a third of the time of its sources. */
const SERVER: Target = {
  outputs: ['out/server/cli.js'],
  sources: ['server', 'shared', 'package.json'],
  command: ['vite/bin/vite.js', 'build', '--config', 'server/launch/bundle.config.ts', '--logLevel', 'error'],
};
const APP: Target = {
  outputs: ['out/main/main.js', 'out/preload/preload.cjs', 'out/renderer/index.html'],
  sources: [...RENDERER.sources, 'electron', 'server', 'electron.vite.config.ts', 'electron.licences.ts'],
  command: ['electron-vite/bin/electron-vite.js', 'build', '--logLevel', 'warn'],
};

/** How long the files of earlier builds of the server are kept for nodes that still run. */
const KEPT_MS = 7 * 86_400_000;

const TARGETS = { renderer: RENDERER, server: SERVER, app: APP };
const NAMES = { renderer: 'interface', server: 'server', app: 'app' };

/**
 * Builds the interface, the server or the whole app, if it was never built or a source is newer.
 *
 * @throws Error with the output of the build
 */
export async function buildIfStale(what: keyof typeof TARGETS, say: (line: string) => void): Promise<void> {
  const target = TARGETS[what];
  if (isFresh(target)) return;
  say(`Building the ${NAMES[what]} …`);
  if (what === 'app') await build(target.command);
  else await buildBeside(target, what === 'server' ? addFiles : swapFolders);
}

/** The file of the command line: built, and of the sources. */
export const BUILT_SERVER = join(ROOT, 'out/server/cli.js');
export const SERVER_SOURCE = join(ROOT, 'server/cli.ts');

/** Whether the server was built since its sources changed. */
export function isServerBuilt(): boolean {
  return isFresh(SERVER);
}

function isFresh({ outputs, sources }: Target): boolean {
  return oldest(outputs) >= Math.max(...sources.map(newest));
}

/** Builds into another folder first, because running nodes may be using the old one. */
async function buildBeside(target: Target, take: (built: string, folder: string) => void): Promise<void> {
  const folder = join(ROOT, dirname(target.outputs[0] ?? ''));
  const built = `${folder}.${process.pid}`;
  try {
    await build([...target.command, '--outDir', built]);
    // Another process may have built it meanwhile.
    if (!isFresh(target)) take(built, folder);
  } catch (error) {
    if (!isFresh(target)) throw error;
  } finally {
    rmSync(built, { recursive: true, force: true });
  }
}

function swapFolders(built: string, folder: string): void {
  const old = `${built}.old`;
  try {
    if (statSync(folder, { throwIfNoEntry: false })) renameSync(folder, old);
    renameSync(built, folder);
  } finally {
    rmSync(old, { recursive: true, force: true });
  }
}

/**
 * Moves the files into the folder, those that others import first. A running node still loads parts of its own build,
 * whose names contain a hash; they are removed after some days.
 */
function addFiles(built: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const oldest = Date.now() - KEPT_MS;
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    if (statSync(file).mtimeMs < oldest) rmSync(file, { force: true });
  }
  const names = readdirSync(built).sort((left, right) => Number(isEntry(left)) - Number(isEntry(right)));
  for (const name of names) renameSync(join(built, name), join(folder, name));
}

/** The entry comes last: from then on the build counts as fresh. */
function isEntry(name: string): boolean {
  return name === basename(SERVER.outputs[0] ?? '');
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
  const time = statSync(full).mtimeMs;
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
