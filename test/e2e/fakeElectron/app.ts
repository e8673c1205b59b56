import { EventEmitter } from 'node:events';
import { mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runInThisContext } from 'node:vm';
import { createPeer, type Handlers } from './peer.ts';

/** An event that a listener can cancel, as in Electron. */
export class CancelableEvent {
  defaultPrevented = false;
  preventDefault(): void {
    this.defaultPrevented = true;
  }
}

const { values } = parseArgs({
  args: process.argv.slice(2),
  strict: false,
  options: { 'user-data-dir': { type: 'string' } },
});

/** Electron names itself and Chromium among the versions. */
const VERSIONS = { electron: '45.4.1', chrome: '156.0.0.0' };
Object.defineProperty(process, 'versions', { value: { ...process.versions, ...VERSIONS } });

class App extends EventEmitter {
  readonly name = 'strongroom';
  readonly isPackaged = false;
  readonly userAgentFallback =
    `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) strongroom/1.0.0 Chrome/${VERSIONS.chrome} Electron/${VERSIONS.electron} Safari/537.36`;
  sandboxEnabled = false;
  /** What the app told the system; for the tests. */
  readonly told: Record<string, unknown> = {};
  /** The running utility processes; `utilityProcess.ts` maintains them. */
  readonly processes = new Set<{ type: string; name: string }>();
  /** The switches that the app gave to Chromium. */
  readonly switches = new Map<string, string>();
  readonly commandLine = {
    appendSwitch: (name: string, value = ''): void => {
      if (this.#isReady) throw new Error('Chromium reads its switches before the app is ready.');
      this.switches.set(name, value);
    },
  };
  #paths = new Map([['userData', String(values['user-data-dir'])]]);
  #closeWindows: () => boolean = () => true;

  #isReady = false;

  whenReady = (): Promise<void> =>
    new Promise((resolve) =>
      setImmediate(() => {
        this.#isReady = true;
        resolve();
      }),
    );
  getAppMetrics = (): { type: string; name: string }[] => [...this.processes];
  isReady = (): boolean => this.#isReady;
  getVersion = (): string => process.env.npm_package_version ?? '0.0.0-fake';
  getPath = (name: string): string => this.#paths.get(name) ?? join(this.getPath('userData'), name);
  setPath = (name: string, path: string): void => void this.#paths.set(name, path);
  getAppPath = (): string => process.cwd();
  setAppUserModelId = (id: string): void => void (this.told.appUserModelId = id);
  setBadgeCount = (count: number): boolean => {
    this.told.badge = count;
    return true;
  };
  setLoginItemSettings = (settings: object): void => void (this.told.loginItem = settings);
  getLoginItemSettings = (): object => ({ wasOpenedAtLogin: false });
  isHardwareAccelerationEnabled = (): boolean => this.told.hardware !== false;
  disableHardwareAcceleration = (): void => {
    if (this.#isReady) throw new Error('Must be called before the app is ready.');
    this.told.hardware = false;
  };
  enableSandbox = (): void => {
    this.sandboxEnabled = true;
  };

  /** The first process to create the file has the lock; it gets the command lines of the others. */
  requestSingleInstanceLock = (): boolean => {
    const file = join(this.getPath('userData'), 'SingletonLock');
    mkdirSync(this.getPath('userData'), { recursive: true });
    try {
      openSync(file, 'wx');
    } catch {
      void host.call('secondInstance', process.argv);
      return false;
    }
    process.on('exit', () => rmSync(file));
    return true;
  };

  /** Sets how `window.ts` closes all windows. The function returns false if that was prevented. */
  onQuitCloseWindows(close: () => boolean): void {
    this.#closeWindows = close;
  }

  quit = (): void => {
    setImmediate(() => {
      const before = new CancelableEvent();
      this.emit('before-quit', before);
      if (before.defaultPrevented || !this.#closeWindows()) return;
      const will = new CancelableEvent();
      this.emit('will-quit', will);
      if (!will.defaultPrevented) this.exit(0);
    });
  };

  /** The host starts the app again after it has exited. */
  relaunch = (): void => void host.call('relaunch');

  exit = (code: number): never => process.exit(code);
}

export const app = new App();
process.on('SIGTERM', app.quit);
process.on('SIGINT', app.quit);

const handlers: Handlers = {
  /** Like Playwright's `evaluate` in the main process: runs a function's source with the module `electron`. */
  evaluate: async (source: string, arg: unknown) => {
    const electron = await import('./electron.ts');
    const run = runInThisContext(`(${source})`) as (electron: unknown, arg: unknown) => unknown;
    return run(electron, arg);
  },
  secondInstance: (argv: string[]) =>
    void app.emit('second-instance', new CancelableEvent(), argv, process.cwd(), null),
};

/** Adds handlers of other modules. */
export function answerHost(more: Handlers): void {
  Object.assign(handlers, more);
}

/** The process that opens pages for this process. */
export const host = createPeer(
  {
    send: (message) => void process.send?.(message),
    listen: (receive) => void process.on('message', receive),
  },
  handlers,
);
