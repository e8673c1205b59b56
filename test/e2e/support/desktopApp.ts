import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { type Browser, type ElectronApplication, _electron as electron, type Page } from '@playwright/test';
import { type FakeElectron, launchFakeElectron } from '../electronStandIn/host.ts';

const root = resolve(import.meta.dirname, '../../..');
const mainFile = join(root, 'out/main/main.js');

type ElectronModule = typeof import('electron');

/** The desktop app as a test meets it, in Electron or on its stand-in. */
export interface DesktopApp {
  readonly kind: 'Electron' | 'stand-in';
  firstWindow(): Promise<Page>;
  /** Runs the function in the main process, with the module `electron`; it may close over nothing. */
  evaluate<Result, Arg = undefined>(
    run: (electron: ElectronModule, arg: Arg) => Result | Promise<Result>,
    arg?: Arg,
  ): Promise<Result>;
  /** The person closes the window at its frame. */
  closeWindow(): Promise<void>;
  /** Starts the app once more in the same way, with files to open; answers with the exit code of that second process. */
  startAgain(...files: string[]): Promise<number | null>;
  /** Dialogs that only tell; the stand-in alone can see them, because Electron waits for the person. */
  errorBoxes(): { title: string; content: string }[];
  /** The exit code, once the app has ended. */
  readonly exited: Promise<number | null>;
  kill(): void;
}

/** Where Electron's program is, if it is anywhere. */
export function electronProgram(): string | undefined {
  const program: Partial<Record<NodeJS.Platform, string>> = {
    darwin: 'Electron.app/Contents/MacOS/Electron',
    win32: 'electron.exe',
  };
  const installed = join(createRequire(import.meta.url).resolve('electron/package.json'), '../dist');
  const folder = process.env.ELECTRON_OVERRIDE_DIST_PATH ?? installed;
  const path = join(folder, program[process.platform] ?? 'electron');
  return existsSync(path) ? path : undefined;
}

/** Starts the built app with a profile of its own: in Electron where it is to be had, else on the stand-in. */
export async function launchDesktop(browser: Browser, args: string[]): Promise<DesktopApp> {
  const program = electronProgram();
  return program === undefined ? onStandIn(browser, args) : inElectron(program, args);
}

function onStandIn(browser: Browser, args: string[]): DesktopApp {
  const app: FakeElectron = launchFakeElectron(browser, mainFile, args);
  return {
    kind: 'stand-in',
    firstWindow: () => app.firstWindow(),
    evaluate: async (run, arg) => (await app.evaluate(String(run), arg)) as never,
    closeWindow: () => app.closeByPerson(),
    startAgain: async (...files) => {
      const second = launchFakeElectron(browser, mainFile, [...args, ...files]);
      const code = await second.exited;
      for (const argv of second.secondInstances) await app.tellSecondInstance(argv);
      return code;
    },
    errorBoxes: () => app.errorBoxes,
    exited: app.exited,
    kill: () => app.kill(),
  };
}

async function inElectron(program: string, args: string[]): Promise<DesktopApp> {
  // As root, which tests may be and people are not, Chromium refuses its sandbox.
  const all = [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), mainFile, ...args];
  const app: ElectronApplication = await electron.launch({ executablePath: program, args: all });
  const child = app.process();
  return {
    kind: 'Electron',
    firstWindow: () => app.firstWindow(),
    evaluate: (run, arg) => app.evaluate(run as never, arg) as never,
    closeWindow: () => app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close()),
    startAgain: async (...files) => {
      const second = spawn(program, [...all, ...files], { stdio: 'ignore' });
      const [code] = (await once(second, 'exit')) as [number | null];
      return code;
    },
    errorBoxes: () => [],
    exited: once(child, 'exit').then(([code]) => code as number | null),
    kill: () => void child.kill('SIGKILL'),
  };
}
