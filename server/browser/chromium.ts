import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, hash } from 'node:crypto';
import {
  accessSync,
  constants,
  createReadStream,
  createWriteStream,
  existsSync,
  readdirSync,
  statSync,
} from 'node:fs';
import { mkdir, mkdtemp, readFile, readlink, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { errorCode } from '../../shared/values/errorCode.ts';
import { every } from '../runtime/background.ts';
import { lowerPriority } from '../runtime/child.ts';
import { type BrowserConnection, ignoringLateErrors, PipeConnection, withTimeout } from './protocol.ts';

/** A running browser that has no network of its own. */
export interface RunningBrowser {
  connection: BrowserConnection;
  name: string;
  version: string;
  /** What scripts see as the browser: one with a window. */
  userAgent: string;
  /** The digest of its build and its flags. */
  environment: string;
  /** Ends the browser and removes its profile. */
  close(): Promise<void>;
}

/** Starts a browser. @returns null if there is none on this machine */
export type StartBrowser = () => Promise<RunningBrowser | null>;

/** Nothing listens on this port, so what does not go through the driver ends here. */
const CLOSED_PROXY = '127.0.0.1:9';

const DISABLED_FEATURES = [
  // The requests of a sandboxed `srcdoc` frame in a process of its own would not be stopped, and so not be answered.
  'IsolateSandboxedIframes',
  'Translate',
  'OptimizationHints',
  'MediaRouter',
  'DialMediaRouteProvider',
  'AutofillServerCommunication',
  'CertificateTransparencyComponentUpdater',
  'HttpsUpgrades',
  'PaintHolding',
  'BackForwardCache',
  'SpareRendererForSitePerProcess',
  // Each window would load the lists below its address bar, in two renderers more: two thirds of the processor's time.
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
];

/**
 * The flags that close the browser: no connection leaves it, not even to this machine, whose addresses Chromium would
 * otherwise reach past the proxy. The rest make drawing the same on every run.
 */
const FLAGS = [
  `--proxy-server=${CLOSED_PROXY}`,
  '--proxy-bypass-list=<-loopback>',
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-extensions',
  '--disable-sync',
  '--disable-breakpad',
  '--disable-crash-reporter',
  '--disable-client-side-phishing-detection',
  `--disable-features=${DISABLED_FEATURES.join(',')}`,
  '--disable-dev-shm-usage',
  '--disable-gpu',
  '--disable-prompt-on-repost',
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  '--disable-lcd-text',
  '--font-render-hinting=none',
  '--force-color-profile=srgb',
  '--hide-scrollbars',
  '--mute-audio',
  '--no-first-run',
  '--no-default-browser-check',
  '--no-service-autorun',
  '--password-store=basic',
  '--use-mock-keychain',
  // The memory of the scripts of one process.
  '--js-flags=--max-old-space-size=512',
  // Animated images stand still; and there is a mouse, as at a desk, also on a server.
  '--blink-settings=imageAnimationPolicy=2,primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4',
];

/** Browsers of the system, in the order in which they are looked for. */
const NAMES = [
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  'chrome',
  'microsoft-edge',
];
const PATHS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: [
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
  ],
  win32: [
    'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
    'C:\\Program Files\\Microsoft\\Edge\\Application\\msedge.exe',
  ],
};

/**
 * Returns the path of a browser: the one that `STRONGROOM_BROWSER` names, an installed one, or the one that came with
 * `npm ci`. Null if there is none, or the variable says `none`.
 */
export async function findBrowser(): Promise<string | null> {
  const named = process.env.STRONGROOM_BROWSER;
  if (named === 'none') return null;
  if (named) return isExecutable(named) ? named : null;
  const folders = (process.env.PATH ?? '').split(delimiter);
  const candidates = [
    ...(PATHS[process.platform] ?? []),
    ...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))),
  ];
  return candidates.find(isExecutable) ?? (await packagedBrowser());
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the digest of what decides how a browser draws. */
export function environmentDigest(product: string, settings: readonly unknown[]): string {
  return hash('sha256', JSON.stringify([product, settings, fontsDigest()]), 'hex');
}

/** Whether the sandbox of Chromium is off: it does not start as root with it. */
export const isUnsandboxed = process.getuid?.() === 0;

/** The longest time in which a browser starts. */
const MAX_START_MS = 30_000;

/**
 * Starts Chromium with a profile of its own, which is deleted when it ends. It ends with this process, because it reads
 * its commands from a pipe.
 *
 * @param profiles the folder of the profiles; a start of the node removes what a crash left there
 */
export async function startChromium(executable: string, profiles: string): Promise<RunningBrowser> {
  await mkdir(profiles, { recursive: true });
  const profile = await mkdtemp(join(profiles, 'browser-'));
  const flags = [...FLAGS, ...(isUnsandboxed ? ['--no-sandbox'] : [])];
  const child = spawn(
    executable,
    [...flags, '--headless=new', '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank'],
    {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      env: { ...environment(profile), ...packagedVariables(executable) },
      detached: process.platform !== 'win32',
    },
  );
  lowerPriority(child.pid);
  const connection = new PipeConnection(child.stdio[3] as Writable, child.stdio[4] as Readable);
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  let stopWatching = () => {};
  const close = async () => {
    stopWatching();
    kill(child);
    await ended;
    connection.close();
    await removeSocketFolder(profile);
    await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  try {
    const { product, userAgent } = await withTimeout(
      connection.send<{ product: string; userAgent: string }>('Browser.getVersion'),
      MAX_START_MS,
    );
    const [name = 'Chrome', version = ''] = product.split('/');
    stopWatching = watchMemory(connection);
    return {
      connection,
      name,
      version,
      userAgent: userAgent.replace('HeadlessChrome', 'Chrome'),
      environment: environmentDigest(product, [...FLAGS, ...Object.keys(packagedVariables(executable))]),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Removes the folder of the browser's socket, which is not in the profile, and which a browser that is killed leaves. */
async function removeSocketFolder(profile: string): Promise<void> {
  try {
    const folder = dirname(await readlink(join(profile, 'SingletonSocket')));
    if (/^\.?(org\.chromium|com\.google|com\.microsoft)\.[\w.]+$/.test(basename(folder)))
      await rm(folder, { recursive: true, force: true });
  } catch (error) {
    // Headless browsers of some builds have no socket.
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

/** Kills the browser with its renderers, which are in its process group. */
function kill({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The browser reads hostile bytes, so it gets almost no environment. */
function environment(profile: string): NodeJS.ProcessEnv {
  const { PATH, LD_LIBRARY_PATH, FONTCONFIG_PATH, FONTCONFIG_FILE, SystemRoot, ProgramFiles, LOCALAPPDATA } =
    process.env;
  return {
    HOME: process.platform === 'darwin' ? homedir() : profile,
    TMPDIR: tmpdir(),
    TZ: 'UTC',
    LANG: 'C.UTF-8',
    ...Object.fromEntries(
      Object.entries({
        PATH,
        LD_LIBRARY_PATH,
        FONTCONFIG_PATH,
        FONTCONFIG_FILE,
        SystemRoot,
        ProgramFiles,
        LOCALAPPDATA,
      }).filter(([, value]) => value !== undefined),
    ),
  };
}

const EVERY_MS = 500;
/** What the processes of a browser may hold together. Two ordinary pages take less than a third. */
const MAX_BYTES = 3_000_000_000;
/** Linux counts memory in pages. */
const PAGE_BYTES = 4_096;

/**
 * Ends the largest process of a browser while its processes hold too much memory together: a page can fill memory with
 * what no limit of the script engine counts, in many frames. The page of that process counts as crashed; others go on.
 * Linux only, where the whole system would suffer; elsewhere the limits of the engine remain.
 *
 * @returns a function that ends watching
 */
function watchMemory(connection: BrowserConnection, maxBytes = MAX_BYTES): () => void {
  if (process.platform !== 'linux') return () => {};
  let isChecking = false;
  const timer = every(EVERY_MS, async () => {
    if (isChecking) return;
    isChecking = true;
    try {
      await ignoringLateErrors(checkMemory(connection, maxBytes));
    } finally {
      isChecking = false;
    }
  });
  timer.unref();
  return () => clearInterval(timer);
}

async function checkMemory(connection: BrowserConnection, maxBytes: number): Promise<void> {
  const { processInfo } = await connection.send<{ processInfo: { id: number }[] }>(
    'SystemInfo.getProcessInfo',
  );
  const processes = await Promise.all(processInfo.map(async ({ id }) => ({ id, bytes: await resident(id) })));
  const total = processes.reduce((sum, { bytes }) => sum + bytes, 0);
  const [largest] = processes.toSorted((left, right) => right.bytes - left.bytes);
  if (total > maxBytes && largest) killProcess(largest.id);
}

/** The memory that a process alone holds, in bytes; 0 if it has ended. */
async function resident(pid: number): Promise<number> {
  try {
    const [, pages = 0, shared = 0] = (await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ').map(Number);
    return (pages - shared) * PAGE_BYTES;
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(errorCode(error) ?? '')) return 0;
    throw error;
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

/** Where systems keep fonts, and what says which of them is used. */
const PLACES: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['/System/Library/Fonts', '/Library/Fonts', join(homedir(), 'Library/Fonts')],
  win32: ['C:\\Windows\\Fonts', join(homedir(), 'AppData\\Local\\Microsoft\\Windows\\Fonts')],
};
const UNIX_PLACES = [
  '/etc/fonts',
  '/usr/share/fonts',
  '/usr/local/share/fonts',
  join(homedir(), '.fonts'),
  join(homedir(), '.local/share/fonts'),
  join(homedir(), '.config/fontconfig'),
];

/** A digest of the names and sizes of the fonts of this machine: another font draws another picture. */
function fontsDigest(): string {
  const digest = createHash('sha256');
  for (const place of PLACES[process.platform] ?? UNIX_PLACES)
    for (const name of filesIn(place)) digest.update(`${name} ${sizeOf(join(place, name))}\n`);
  return digest.digest('hex');
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted();
  } catch (error) {
    if (isUnreadable(error)) return [];
    throw error;
  }
}

/** Folders count as nothing; so does a file that went away meanwhile. */
function sizeOf(file: string): number {
  try {
    const found = statSync(file);
    return found.isFile() ? found.size : 0;
  } catch (error) {
    if (isUnreadable(error)) return 0;
    throw error;
  }
}

function isUnreadable(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP'].includes(errorCode(error) ?? '');
}

/**
 * The package that carries Chromium's headless shell for Linux (x64), compressed, with the libraries that a
 * machine lacks on which no browser was ever installed, and a font.
 */
const PACKAGE = '@sparticuz/chromium';
/** The shell has 200 MB. In pieces of the usual 16 KB, unpacking takes half as much again of the processor's time. */
const PIECE_BYTES = 262_144;
const LIBRARIES = 'lib';
const FONTS = 'fonts.conf';

/**
 * Returns the path of the headless shell that came with `npm ci`, or null. It is unpacked once, into the owner's cache
 * folder: the package itself would use a name in the shared temporary folder that anybody can take first.
 */
export async function packagedBrowser(): Promise<string | null> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return null;
  const packed = packagedFolder();
  if (packed === null) return null;
  const { size, mtimeMs } = statSync(join(packed, 'chromium.br'));
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'strongroom');
  const folder = join(cache, `browser-${size}-${Math.floor(mtimeMs)}`);
  const executable = join(folder, 'chromium');
  if (existsSync(executable)) return executable;
  await mkdir(cache, { recursive: true, mode: 0o700 });
  const unfinished = await mkdtemp(join(cache, 'unpacking-'));
  try {
    await unpack(packed, unfinished);
    await rename(unfinished, folder);
  } catch (error) {
    // Another process was faster.
    if (!existsSync(executable)) throw error;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return executable;
}

/** Returns what the packaged browser needs in its environment. Another browser brings its libraries and fonts itself. */
export function packagedVariables(executable: string): Record<string, string> {
  const folder = dirname(executable);
  if (!existsSync(join(folder, FONTS))) return {};
  return {
    LD_LIBRARY_PATH: join(folder, LIBRARIES),
    // Without any font, a page has no letters.
    ...(!existsSync('/etc/fonts/fonts.conf') && { FONTCONFIG_FILE: join(folder, FONTS) }),
  };
}

function packagedFolder(): string | null {
  try {
    return join(dirname(createRequire(import.meta.url).resolve(PACKAGE)), '..', 'bin');
  } catch (error) {
    if (errorCode(error) === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

async function unpack(packed: string, folder: string): Promise<void> {
  await unpackTar(join(packed, 'al2023.tar.br'), folder);
  await unpackTar(join(packed, 'fonts.tar.br'), folder);
  await writeFile(join(folder, FONTS), FONT_CONFIGURATION);
  await pipeline(
    createReadStream(join(packed, 'chromium.br')),
    createBrotliDecompress({ chunkSize: PIECE_BYTES }),
    createWriteStream(join(folder, 'chromium'), { mode: 0o700 }),
  );
}

/** The configuration in the package names the folders of one cloud service. */
const FONT_CONFIGURATION = `<?xml version="1.0"?>
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;

const BLOCK = 512;

/** Unpacks the files of a tar archive of a package whose integrity npm has checked. It has short names and no links. */
async function unpackTar(file: string, folder: string): Promise<void> {
  const tar = await pipeline(createReadStream(file), createBrotliDecompress(), (bytes) => buffer(bytes));
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0; ) {
    const field = (from: number, length: number) =>
      tar.toString('latin1', at + from, at + from + length).split('\0')[0] ?? '';
    const name = field(0, 100);
    const size = Number.parseInt(field(124, 12), 8);
    const isFile = ['0', ''].includes(field(156, 1));
    if (isFile && name !== FONTS) {
      const target = join(folder, name);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, tar.subarray(at + BLOCK, at + BLOCK + size));
    }
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
}
