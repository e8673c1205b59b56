import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { buildIfStale, ROOT } from '../server/launch/build.ts';
import { exitWithParent } from '../server/launch/exitWithParent.ts';
import { readOptions, type StartOptions } from './options.ts';
import { findElectron } from './start/electronBinary.ts';
import { openBrowser } from './start/openBrowser.ts';
import { defaultDataFolder } from './start/places.ts';

const NEEDED_NODE = 24;
/** An app that crashes later than this did open; starting it again is then the person's choice. */
const COULD_NOT_BEGIN_MS = 15_000;

/**
 * `npm start`: the app in a window of its own, or, where Electron cannot run, the same interface in the browser.
 * Answers with the exit code.
 */
async function start(args: string[]): Promise<number> {
  if (Number(process.versions.node.split('.')[0]) < NEEDED_NODE) {
    throw new Error(
      `Strongroom needs Node ${NEEDED_NODE} and this is ${process.versions.node}: start it with “npm start”, after “npm ci”.`,
    );
  }
  const options = readOptions(args, { strict: true });
  const electron = options.browser ? { reason: 'the browser was asked for' } : await findElectron(say);
  let reason: string;
  if ('path' in electron) {
    await buildIfStale('app', say);
    const ended = await runElectron(electron.path, args);
    if (typeof ended === 'number') return ended;
    reason = ended.reason;
  } else {
    reason = electron.reason;
  }
  say(`No window of its own, because ${reason}: Strongroom’s interface is in the browser.`);
  await buildIfStale('renderer', say);
  return serveForBrowser(options);
}

/** Runs the app until it ends. One that could not even begin, as where system libraries are missing, is a reason. */
async function runElectron(path: string, args: string[]): Promise<number | { reason: string }> {
  const { ELECTRON_RUN_AS_NODE: _plainNode, ...env } = process.env;
  const began = performance.now();
  const child = spawn(path, [ROOT, ...args], { stdio: 'inherit', env });
  // The app closes its archive and this process waits for it. Chromium takes a second signal of a kind as an order to
  // stop at once; Ctrl-C has reached it as SIGINT already.
  let isAsked = false;
  const end = () => {
    if (!isAsked) child.kill('SIGTERM');
    isAsked = true;
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end);
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (performance.now() - began > COULD_NOT_BEGIN_MS) return code ?? 1;
  if (code === 127) return { reason: 'Electron does not find its system libraries' };
  if (signal === 'SIGTRAP' || signal === 'SIGABRT' || signal === 'SIGSEGV') {
    return { reason: `Electron ended with ${signal} (on Linux mostly for want of its sandbox)` };
  }
  return code ?? 1;
}

/** Runs the node until it is told to end, and offers its interface to the browser. */
async function serveForBrowser({
  dataFolder = defaultDataFolder(),
  port,
  open,
}: StartOptions): Promise<number> {
  const signalled = new Promise<void>((resolve) => {
    // npm passes on what the terminal has sent already: a second signal must not cut the closing short.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve());
  });
  // The window's own process opens the archive; only without one is the node loaded here.
  const { openArchive, sentenceOf } = await import('./openArchive.ts');
  const node = await openArchive({ dataFolder, port, collect: true }).catch((error: unknown) => {
    throw new Error(sentenceOf(error, port), { cause: error });
  });
  say(`Strongroom runs at ${node.url} with the data folder ${node.dataFolder}.`);
  say(`Sign in as the owner, once, with this link: ${node.createSignInLink()}`);
  say('End it with Ctrl-C.');
  if (open) openBrowser(node.createSignInLink());
  await signalled;
  say('Closing the archive …');
  await node.close();
  return 0;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

// The terminal may be closed before the last word.
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
