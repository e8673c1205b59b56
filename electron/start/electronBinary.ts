import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../server/launch/build.ts';

/** The path of Electron's program, or the reason why there is no window (as the end of a sentence). */
export type ElectronBinary = { path: string } | { reason: string };

/** A reachable server responds within this time. */
const CONNECT_TIMEOUT_MS = 4_000;
/** Electron has about 120 MB. If the download takes longer, the browser is used instead. */
const DOWNLOAD_TIMEOUT_MS = 180_000;

const PACKAGE = join(ROOT, 'node_modules/electron');
const PROGRAM: Partial<Record<NodeJS.Platform, string>> = {
  darwin: 'Electron.app/Contents/MacOS/Electron',
  win32: 'electron.exe',
};

/** Finds Electron's program. If only the download is missing, as after `npm ci`, downloads it. */
export async function findElectron(say: (line: string) => void): Promise<ElectronBinary> {
  if (process.platform === 'linux') {
    if (!process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) return { reason: 'there is no display' };
    if (process.getuid?.() === 0) return { reason: 'Chromium’s sandbox does not run as root' };
  }
  const path = join(folder(), PROGRAM[process.platform] ?? 'electron');
  if (existsSync(path)) return { path };
  if (process.env.ELECTRON_OVERRIDE_DIST_PATH) return { reason: `there is no Electron at ${path}` };
  if (!existsSync(PACKAGE)) return { reason: 'the package electron is not installed' };
  if (!(await isReachable(downloadHost()))) {
    return { reason: 'Electron is not downloaded yet and its server cannot be reached' };
  }
  say('Downloading Electron (about 120 MB, only once) …');
  const failure = await download();
  if (failure !== undefined) return { reason: `Electron could not be downloaded (${failure})` };
  return existsSync(path) ? { path } : { reason: `the download of Electron contains no program at ${path}` };
}

function folder(): string {
  return process.env.ELECTRON_OVERRIDE_DIST_PATH ?? join(PACKAGE, 'dist');
}

function downloadHost(): string {
  const mirror = process.env.ELECTRON_MIRROR ?? process.env.npm_config_electron_mirror;
  return mirror ?? 'https://github.com';
}

/** Any response counts. With a proxy, returns true: only the download itself uses the proxy. */
async function isReachable(url: string): Promise<boolean> {
  if (Object.keys(process.env).some((name) => /^https?_proxy$/i.test(name))) return true;
  try {
    await fetch(url, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS),
    });
    return true;
  } catch {
    return false;
  }
}

/** Runs the install script of the package electron; returns the reason if it failed. */
async function download(): Promise<string | undefined> {
  const child = spawn(process.execPath, [join(PACKAGE, 'install.js')], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ELECTRON_GET_USE_PROXY: '1' },
    timeout: DOWNLOAD_TIMEOUT_MS,
  });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  if (code === 0) return undefined;
  if (signal !== null) return `not within ${DOWNLOAD_TIMEOUT_MS / 60_000} minutes`;
  return output.trim().split('\n', 1)[0] ?? `code ${code}`;
}
