import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BUILT_ARCHIVE, buildIfStale, ROOT } from '../server/launch/build.ts';
import { exitWithParent } from '../server/runtime/child.ts';
import { defaultDataFolder, openBrowser, readOptions, type StartOptions } from './options.ts';

const REQUIRED_NODE = 24;
/** A crash after this time is not treated as a failure to start, so the browser is not offered instead. */
const STARTUP_MS = 15_000;

/**
 * `npm start`: opens the app in its own window or, if Electron cannot run, the same interface in the browser. Returns the
 * exit code.
 */
async function start(args: string[]): Promise<number> {
  if (Number(process.versions.node.split('.')[0]) < REQUIRED_NODE) {
    throw new Error(
      `Strongroom needs Node ${REQUIRED_NODE} and this is ${process.versions.node}: start it with “npm start”, after “npm ci”.`,
    );
  }
  const options = readOptions(args, { strict: true });
  const electron = options.browser ? { reason: 'the option --browser was given' } : await findElectron(say);
  let reason: string;
  if ('path' in electron) {
    await buildIfStale('app', say);
    const ended = await runElectron(electron.path, args);
    if (typeof ended === 'number') return ended;
    reason = ended.reason;
  } else {
    reason = electron.reason;
  }
  say(`Strongroom opens in the browser and not in its own window, because ${reason}.`);
  await Promise.all([buildIfStale('renderer', say), buildIfStale('server', say)]);
  return serveForBrowser(options);
}

/** Runs the app and returns its exit code, or the reason why it could not start, such as missing system libraries. */
async function runElectron(path: string, args: string[]): Promise<number | { reason: string }> {
  const { ELECTRON_RUN_AS_NODE: _plainNode, ...env } = process.env;
  const began = performance.now();
  const child = spawn(path, [ROOT, ...args], { stdio: 'inherit', env });
  // This process waits while the app closes its archive. Ctrl-C has already sent SIGINT to the app. It gets SIGTERM only
  // once, because Chromium exits at once on a second signal of the same kind.
  let isSignalled = false;
  const end = () => {
    if (!isSignalled) child.kill('SIGTERM');
    isSignalled = true;
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end);
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (performance.now() - began > STARTUP_MS) return code ?? 1;
  if (code === 127) return { reason: 'Electron does not find its system libraries' };
  if (signal === 'SIGTRAP' || signal === 'SIGABRT' || signal === 'SIGSEGV') {
    return {
      reason: `Electron ended with ${signal} (on Linux, usually because its sandbox is not available)`,
    };
  }
  return code ?? 1;
}

/** Runs the node until it gets a signal, and opens its interface in the browser. */
async function serveForBrowser({ dataFolder: named, port, open }: StartOptions): Promise<number> {
  const signalled = new Promise<void>((resolve) => {
    // npm forwards the signal that the terminal also sends: the second one must not interrupt the closing.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve());
  });
  // Imported only here: with a window, the app's process opens the archive.
  const { chosenFolder, serveArchive, errorMessage } = (await import(
    pathToFileURL(BUILT_ARCHIVE).href
  )) as typeof import('./openArchive.ts');
  let isFirst = true;
  await serveArchive({
    own: named ?? chosenFolder(defaultDataFolder()),
    port,
    collect: true,
    ended: signalled.then(() => say('Closing the archive …')),
    onLeftOver: (error) => say(`The sample archive could not be removed: ${errorMessage(error, port)}`),
    onOpen: (node) => {
      say(`Strongroom runs at ${node.url} with the data folder ${node.dataFolder}.`);
      // Later the person is signed in by the page that opened the other archive.
      if (!isFirst) return;
      isFirst = false;
      say(`To sign in as the owner, open this link (it works once): ${node.createSignInLink()}`);
      say('Press Ctrl-C to stop.');
      if (open) openBrowser(node.createSignInLink());
    },
  }).catch((error: unknown) => {
    throw new Error(errorMessage(error, port), { cause: error });
  });
  return 0;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The path of Electron's program, or the reason why there is no window (as the end of a sentence). */
type ElectronBinary = { path: string } | { reason: string };

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
async function findElectron(say: (line: string) => void): Promise<ElectronBinary> {
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

// The terminal may be closed before the last output.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EIO' && error.code !== 'EPIPE') throw error;
});
exitWithParent();
try {
  process.exitCode = await start(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
