import { fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Browser, BrowserContext, Frame, Page, Route } from '@playwright/test';
import { createPeer, type Peer } from './peer.ts';

interface OpenRequest {
  /** The window; windows of one app share their session. */
  id: number;
  url: string;
  preload: string;
  argv: string[];
  mayCopy: boolean;
  viewport: { width: number; height: number };
}

/** An app that runs on the fake Electron. */
export interface FakeElectron {
  firstWindow(): Promise<Page>;
  /** The pages of the open windows, oldest first. */
  windows(): Page[];
  evaluate(source: string, arg: unknown): Promise<unknown>;
  /** Closes the window as the user does. */
  closeByUser(): Promise<void>;
  /** The error dialogs so far. */
  readonly errorBoxes: { title: string; content: string }[];
  /** The arguments that this process passed on before it exited, because another instance was running. */
  readonly secondInstances: string[][];
  /** How often it asked to be started again after its end. */
  readonly relaunches: () => number;
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
  let relaunches = 0;
  const opened = Promise.withResolvers<Page>();
  const pages = new Map<number, Page>();
  let context: BrowserContext | undefined;
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
        context ??= await createContext(browser, request, peer, pages);
        opened.resolve(await openPage(context, request, pages));
      },
      deliver: (id: number, channel: string, args: unknown[]) =>
        pages
          .get(id)
          ?.evaluate(([name, values]) => window.fakeElectronDeliver(name, values), [channel, args] as const),
      reload: async (id: number) => void (await pages.get(id)?.reload()),
      close: async (id: number) => {
        const page = pages.get(id);
        pages.delete(id);
        if (pages.size === 0) await context?.close();
        else await page?.close();
      },
      errorBox: (title: string, content: string) => void errorBoxes.push({ title, content }),
      secondInstance: (argv: string[]) => void secondInstances.push(argv),
      relaunch: () => void (relaunches += 1),
    },
  );
  const exited = once(child, 'exit').then(async ([code]) => {
    await context?.close();
    return code as number | null;
  });
  return {
    firstWindow: () => opened.promise,
    windows: () => [...pages.values()],
    evaluate: (source, arg) => peer.call('evaluate', source, arg),
    closeByUser: async () => void (await peer.call('closeByUser')),
    errorBoxes,
    secondInstances,
    relaunches: () => relaunches,
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

async function createContext(
  browser: Browser,
  request: OpenRequest,
  peer: Peer,
  pages: ReadonlyMap<number, Page>,
): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: request.viewport, reducedMotion: 'reduce' });
  // Chromium denies every permission that is not listed here.
  await context.grantPermissions(request.mayCopy ? ['clipboard-write'] : []);
  await context.exposeBinding('fakeElectronInvoke', async ({ frame }, channel: string, args: unknown[]) => {
    const origin = await frame.evaluate(() => window.origin);
    return peer.call('invoke', channel, args, { origin, isMain: frame.parentFrame() === null });
  });
  await context.addInitScript({ content: preloadScript(request) });
  await guardNavigation(context, pages, peer);
  return context;
}

async function openPage(
  context: BrowserContext,
  { id, url }: OpenRequest,
  pages: Map<number, Page>,
): Promise<Page> {
  const page = await context.newPage();
  pages.set(id, page);
  // What a page opens is refused or closed; it has an opener.
  page.on('popup', (popup) => void popup.close());
  await page.goto(url);
  return page;
}

/** Asks the app before each navigation except the first of a window, as Electron does. */
async function guardNavigation(
  context: BrowserContext,
  pages: ReadonlyMap<number, Page>,
  peer: Peer,
): Promise<void> {
  const loaded = new Set<Page>();
  await context.route('**/*', async (route: Route) => {
    const request = route.request();
    if (!request.isNavigationRequest()) return route.continue();
    const frame = frameOf(() => request.frame());
    const [id, page] = [...pages].find(([, own]) => own === frame?.page()) ?? [];
    if (page && !loaded.has(page)) {
      loaded.add(page);
      return route.continue();
    }
    const allowed = page
      ? await peer.call('mayNavigate', id, request.url(), frame?.parentFrame() === null)
      : await peer.call('mayOpen', request.url());
    return allowed ? route.continue() : route.abort('aborted');
  });
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
