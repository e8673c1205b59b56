import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../server/launch/build.ts';

/** Electron's program, or why there will be no window, as the end of a sentence. */
export type ElectronBinary = { path: string } | { reason: string };

/** Whoever has a network answers within this. */
const REACHABLE_WITHIN_MS = 4_000;
/** Electron is some 120 MB; a network that takes longer than this should not keep anybody from the interface. */
const DOWNLOAD_WITHIN_MS = 180_000;

const PACKAGE = join(ROOT, 'node_modules/electron');
const PROGRAM: Partial<Record<NodeJS.Platform, string>> = {
  darwin: 'Electron.app/Contents/MacOS/Electron',
  win32: 'electron.exe',
};

/** Finds Electron's program; where only the download is missing, as after `npm ci`, tries that once. */
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
  say('Downloading Electron, once: some 120 MB …');
  const failure = await download();
  if (failure !== undefined) return { reason: `Electron could not be downloaded (${failure})` };
  return existsSync(path) ? { path } : { reason: `Electron’s download left no program at ${path}` };
}

function folder(): string {
  return process.env.ELECTRON_OVERRIDE_DIST_PATH ?? join(PACKAGE, 'dist');
}

function downloadHost(): string {
  const mirror = process.env.ELECTRON_MIRROR ?? process.env.npm_config_electron_mirror;
  return mirror ?? 'https://github.com';
}

/** Any answer will do. Behind a proxy the question is left to the download, which knows of proxies. */
async function isReachable(url: string): Promise<boolean> {
  if (Object.keys(process.env).some((name) => /^https?_proxy$/i.test(name))) return true;
  try {
    await fetch(url, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(REACHABLE_WITHIN_MS),
    });
    return true;
  } catch {
    return false;
  }
}

/** Runs the script that the package electron ships; answers with why it failed. */
async function download(): Promise<string | undefined> {
  const child = spawn(process.execPath, [join(PACKAGE, 'install.js')], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ELECTRON_GET_USE_PROXY: '1' },
    timeout: DOWNLOAD_WITHIN_MS,
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  if (code === 0) return undefined;
  if (signal !== null) return `not within ${DOWNLOAD_WITHIN_MS / 60_000} minutes`;
  return complaint.trim().split('\n', 1)[0] ?? `code ${code}`;
}
