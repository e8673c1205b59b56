import { fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Browser, BrowserContext, Frame, Page, Route } from '@playwright/test';
import { createPeer, type Peer } from './peer.ts';

interface OpenRequest {
  url: string;
  preload: string;
  argv: string[];
  mayCopy: boolean;
  viewport: { width: number; height: number };
}

/** An app that runs on the fake Electron. */
export interface FakeElectron {
  firstWindow(): Promise<Page>;
  evaluate(source: string, arg: unknown): Promise<unknown>;
  /** Closes the window as the user does. */
  closeByUser(): Promise<void>;
  /** The error dialogs so far. */
  readonly errorBoxes: { title: string; content: string }[];
  /** The arguments that this process passed on before it exited, because another instance was running. */
  readonly secondInstances: string[][];
  reportSecondInstance(argv: string[]): Promise<void>;
  readonly exited: Promise<number | null>;
  kill(): void;
}

/** Runs the built main process in Node with the fake Electron, and opens its window in the browser. */
export function launchFakeElectron(browser: Browser, mainFile: string, args: string[]): FakeElectron {
  const child = fork(mainFile, args, {
    execArgv: ['--import', resolve(import.meta.dirname, 'register.ts')],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const errorBoxes: FakeElectron['errorBoxes'] = [];
  const secondInstances: string[][] = [];
  const opened = Promise.withResolvers<Page>();
  let page: Page | undefined;
  const peer = createPeer(
    {
      send: (message) => {
        if (!child.connected) return;
        child.send(message as object, (error: NodeJS.ErrnoException | null) => {
          // The process may just have exited; then it needs no response.
          if (error && error.code !== 'EPIPE') throw error;
        });
      },
      listen: (receive) => void child.on('message', receive),
    },
    {
      open: async (request: OpenRequest) => {
        page = await openPage(browser, request, peer);
        opened.resolve(page);
      },
      deliver: (channel: string, args: unknown[]) =>
        page?.evaluate(([name, values]) => window.fakeElectronDeliver(name, values), [
          channel,
          args,
        ] as const),
      reload: async () => void (await page?.reload()),
      close: () => page?.context().close(),
      errorBox: (title: string, content: string) => void errorBoxes.push({ title, content }),
      secondInstance: (argv: string[]) => void secondInstances.push(argv),
    },
  );
  const exited = once(child, 'exit').then(async ([code]) => {
    await page?.context().close();
    return code as number | null;
  });
  return {
    firstWindow: () => opened.promise,
    evaluate: (source, arg) => peer.call('evaluate', source, arg),
    closeByUser: async () => void (await peer.call('closeByUser')),
    errorBoxes,
    secondInstances,
    reportSecondInstance: async (argv) => void (await peer.call('secondInstance', argv)),
    exited,
    kill: () => void child.kill('SIGKILL'),
  };
}

declare global {
  interface Window {
    fakeElectronDeliver(channel: string, args: unknown[]): void;
    fakeElectronInvoke(channel: string, args: unknown[]): Promise<unknown>;
  }
}

async function openPage(browser: Browser, request: OpenRequest, peer: Peer): Promise<Page> {
  const context = await browser.newContext({ viewport: request.viewport, reducedMotion: 'reduce' });
  // Chromium denies every permission that is not listed here.
  await context.grantPermissions(request.mayCopy ? ['clipboard-write'] : []);
  await context.exposeBinding('fakeElectronInvoke', async ({ frame }, channel: string, args: unknown[]) => {
    const origin = await frame.evaluate(() => window.origin);
    return peer.call('invoke', channel, args, { origin, isMain: frame.parentFrame() === null });
  });
  await context.addInitScript({ content: preloadScript(request) });
  const page = await context.newPage();
  await guardNavigation(context, page, peer);
  await page.goto(request.url);
  return page;
}

/** Asks the app before each navigation except the first, as Electron does. */
async function guardNavigation(context: BrowserContext, page: Page, peer: Peer): Promise<void> {
  let isFirst = true;
  await context.route('**/*', async (route: Route) => {
    const request = route.request();
    if (!request.isNavigationRequest() || isFirst) {
      isFirst = false;
      return route.continue();
    }
    const frame = frameOf(() => request.frame());
    const isOwnWindow = frame !== undefined && frame.page() === page;
    const allowed = isOwnWindow
      ? await peer.call('mayNavigate', request.url(), frame.parentFrame() === null)
      : await peer.call('mayOpen', request.url());
    return allowed ? route.continue() : route.abort('aborted');
  });
  context.on('page', (other) => void other.close());
}

/** Returns undefined for the first request of a new window, for which Playwright has no frame yet. */
function frameOf(find: () => Frame): Frame | undefined {
  try {
    return find();
  } catch {
    return undefined;
  }
}

/** Returns the preload as source text, because the page's content security policy forbids `eval`. */
function preloadScript({ preload, argv }: OpenRequest): string {
  const process = JSON.stringify({ argv, platform: globalThis.process.platform });
  return `(${String(runPreload)})(${process}, (require, module, exports, process) => {\n${preload}\n});`;
}

type Preload = (require: (name: string) => object, module: object, exports: object, process: object) => void;

/** Runs in the page before its own scripts: defines the globals of a sandboxed preload and runs the preload. */
function runPreload(process: object, preload: Preload): void {
  if (window !== window.top) return;
  type Listener = (event: object, ...args: unknown[]) => void;
  const listeners = new Map<string, Set<Listener>>();
  window.fakeElectronDeliver = (channel, args) => {
    for (const listener of listeners.get(channel) ?? []) listener({}, ...args);
  };
  const electron = {
    contextBridge: {
      exposeInMainWorld: (name: string, api: object) =>
        Object.defineProperty(window, name, { value: Object.freeze(api) }),
    },
    ipcRenderer: {
      invoke: (channel: string, ...args: unknown[]) => window.fakeElectronInvoke(channel, args),
      on: (channel: string, listener: Listener) =>
        listeners.set(channel, (listeners.get(channel) ?? new Set()).add(listener)),
      off: (channel: string, listener: Listener) => listeners.get(channel)?.delete(listener),
    },
  };
  const require = (name: string) => {
    if (name === 'electron') return electron;
    throw new Error(`A sandboxed preload has no module ${name}.`);
  };
  preload(require, { exports: {} }, {}, process);
}
