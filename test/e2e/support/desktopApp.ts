import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { type Browser, type ElectronApplication, _electron as electron, type Page } from '@playwright/test';
import { type FakeElectron, launchFakeElectron } from '../fakeElectron/host.ts';

const root = resolve(import.meta.dirname, '../../..');
const mainFile = join(root, 'out/main/main.js');

type ElectronModule = typeof import('electron');

/** A running desktop app, in Electron or on the fake Electron. */
export interface DesktopApp {
  readonly kind: 'Electron' | 'fake';
  firstWindow(): Promise<Page>;
  /** The pages of the open windows, oldest first. */
  windows(): Page[];
  /** Runs a function in the main process with the module `electron`. The function cannot use outer variables. */
  evaluate<Result, Arg = undefined>(
    run: (electron: ElectronModule, arg: Arg) => Result | Promise<Result>,
    arg?: Arg,
  ): Promise<Result>;
  /** Closes the window as the user does. */
  closeWindow(): Promise<void>;
  /** Starts the app a second time, with files to open; returns the exit code of that process. */
  startAgain(...files: string[]): Promise<number | null>;
  /** The error dialogs so far. Only on the fake Electron, because Electron waits for the user. */
  errorBoxes(): { title: string; content: string }[];
  /** How often it asked to be started again. Only on the fake Electron: Electron would do it. */
  relaunches(): number;
  /** Resolves with the exit code. */
  readonly exited: Promise<number | null>;
  kill(): void;
}

/** Returns the path of Electron's program, or undefined if it is not installed. */
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

/** Starts the built app with its own profile: in Electron if it is installed, else on the fake Electron. */
export async function launchDesktop(browser: Browser, args: string[]): Promise<DesktopApp> {
  const program = electronProgram();
  return program === undefined ? onFakeElectron(browser, args) : inElectron(program, args);
}

function onFakeElectron(browser: Browser, args: string[]): DesktopApp {
  const app: FakeElectron = launchFakeElectron(browser, mainFile, args);
  return {
    kind: 'fake',
    firstWindow: () => app.firstWindow(),
    windows: () => app.windows(),
    evaluate: async (run, arg) => (await app.evaluate(String(run), arg)) as never,
    closeWindow: () => app.closeByUser(),
    startAgain: async (...files) => {
      const second = launchFakeElectron(browser, mainFile, [...args, ...files]);
      const code = await second.exited;
      for (const argv of second.secondInstances) await app.reportSecondInstance(argv);
      return code;
    },
    errorBoxes: () => app.errorBoxes,
    relaunches: () => app.relaunches(),
    exited: app.exited,
    kill: () => app.kill(),
  };
}

async function inElectron(program: string, args: string[]): Promise<DesktopApp> {
  // Chromium's sandbox does not run as root, and tests may run as root.
  const all = [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), mainFile, ...args];
  const app: ElectronApplication = await electron.launch({ executablePath: program, args: all });
  const child = app.process();
  return {
    kind: 'Electron',
    firstWindow: () => app.firstWindow(),
    windows: () => app.windows(),
    evaluate: (run, arg) => app.evaluate(run as never, arg) as never,
    closeWindow: () => app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close()),
    startAgain: async (...files) => {
      const second = spawn(program, [...all, ...files], { stdio: 'ignore' });
      const [code] = (await once(second, 'exit')) as [number | null];
      return code;
    },
    errorBoxes: () => [],
    relaunches: () => 0,
    exited: once(child, 'exit').then(([code]) => code as number | null),
    kill: () => void child.kill('SIGKILL'),
  };
}
