import { randomUUID } from 'node:crypto';
import { app, BrowserWindow, type Session, screen, session } from 'electron';
import { environmentDigest, type RunningBrowser, type StartBrowser } from '../server/browser/chromium.ts';
import {
  type BrowserConnection,
  BrowserGoneError,
  type Params,
  ProtocolError,
  type ProtocolEvent,
} from '../server/browser/protocol.ts';
import { inBackground } from '../server/runtime/background.ts';

/*
 * The closed browser of the desktop app is Electron itself. A tab is a hidden window with a session of its own; the driver
 * speaks the DevTools protocol with it as with any Chromium. Commands about the whole browser are answered here.
 */

/** Nothing listens there. Chromium would otherwise reach this machine past the proxy. */
const CLOSED_PROXY = { proxyRules: '127.0.0.1:9', proxyBypassRules: '<-loopback>' };

/**
 * The app's own window needs no name to be resolved. Pages could have names resolved by hints such as `dns-prefetch`, which
 * pass neither the driver nor the proxy.
 */
const RESOLVER_RULES = 'MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost';

/** How a tab draws, besides its viewport. */
const WINDOW = {
  show: false,
  frame: false,
  useContentSize: true,
  enableLargerThanScreen: true,
  skipTaskbar: true,
  hiddenInMissionControl: true,
} as const;
const PREFERENCES = {
  sandbox: true,
  contextIsolation: true,
  nodeIntegration: false,
  nodeIntegrationInSubFrames: false,
  nodeIntegrationInWorker: false,
  webviewTag: false,
  webSecurity: true,
  spellcheck: false,
  disableDialogs: true,
  autoplayPolicy: 'document-user-activation-required',
  // A hidden window would draw nothing, and its page would count as hidden.
  backgroundThrottling: false,
} as const;

/** Closes the resolver of the app. Must be called before Electron is ready. */
export function closeResolver(): void {
  app.commandLine.appendSwitch('host-resolver-rules', RESOLVER_RULES);
}

/** Returns how the app starts a closed browser. Must be called once, before the first window is opened. */
export function electronBrowser(): StartBrowser {
  const sessions = new ClosedSessions();
  let isQuitting = false;
  app.on('before-quit', () => {
    isQuitting = true;
  });
  // Without a listener, the app would quit when a hidden window is the last that closes.
  app.on('window-all-closed', () => {});
  return async () => {
    const connection = new ElectronConnection(sessions, () => isQuitting);
    const { chrome, electron } = process.versions;
    const { scaleFactor, colorSpace, colorDepth } = screen.getPrimaryDisplay();
    return {
      connection,
      name: 'Electron',
      version: electron,
      // As Chromium calls itself, without the names of the app and of Electron.
      userAgent: app.userAgentFallback.replace(/ (?!Mozilla|AppleWebKit|Chrome|Safari)[\w-]+\/[\d.]+/g, ''),
      environment: environmentDigest(`Chrome/${chrome}`, [
        process.platform,
        process.arch,
        WINDOW,
        PREFERENCES,
        { scaleFactor, colorSpace, colorDepth },
      ]),
      close: async () => connection.close(),
    } satisfies RunningBrowser;
  };
}

/** Sessions in memory without a network. Electron never frees one, so they are emptied and used again. */
class ClosedSessions {
  readonly #free: Session[] = [];

  async take(): Promise<Session> {
    return this.#free.pop() ?? this.#create();
  }

  /** Takes a session back. If it cannot be emptied, it is never used again. */
  async giveBack(used: Session): Promise<void> {
    await used.closeAllConnections();
    await used.clearData();
    await used.clearStorageData();
    await used.clearAuthCache();
    await used.clearHostResolverCache();
    this.#free.push(used);
  }

  async #create(): Promise<Session> {
    // A partition without the prefix `persist:` is kept in memory only.
    const created = session.fromPartition(`closed-browser-${randomUUID()}`, { cache: false });
    created.setPermissionRequestHandler((_contents, _permission, callback) => callback(false));
    created.setPermissionCheckHandler(() => false);
    created.setDevicePermissionHandler(() => false);
    created.on('will-download', (event) => event.preventDefault());
    await created.setProxy(CLOSED_PROXY);
    return created;
  }
}

/** A hidden window, and the id that the driver uses for its session. */
class Tab {
  readonly id = randomUUID();
  readonly window: BrowserWindow;
  /**
   * Rejects when the page has crashed or its window is gone. While the app quits it does not: the node is closed next, and
   * ends the drawing, which is no fault of the page.
   */
  readonly gone: Promise<never>;
  isGone = false;
  #rejectGone: (error: Error) => void = () => {};

  constructor(closed: Session, size: { width: number; height: number }) {
    this.window = new BrowserWindow({
      ...WINDOW,
      ...size,
      webPreferences: { ...PREFERENCES, session: closed },
    });
    this.gone = new Promise((_, reject) => {
      this.#rejectGone = reject;
    });
    // Those who wait for it handle the rejection. This avoids an unhandled one when nobody does.
    this.gone.catch(() => {});
  }

  end(): void {
    this.isGone = true;
    this.#rejectGone(new BrowserGoneError());
  }
}

interface Context {
  session: Session;
  tabs: Set<Tab>;
}

/** The protocol of a whole browser, over the debuggers of single windows. */
class ElectronConnection implements BrowserConnection {
  readonly gone: Promise<void>;
  readonly #sessions: ClosedSessions;
  readonly #isQuitting: () => boolean;
  readonly #contexts = new Map<string, Context>();
  /** The tabs by the ids of their sessions: that of the tab, and those of its frames and workers. */
  readonly #tabs = new Map<string, Tab>();
  readonly #tabOfTarget = new Map<string, Tab>();
  readonly #listeners = new Set<(event: ProtocolEvent) => void>();
  #end: () => void = () => {};

  constructor(sessions: ClosedSessions, isQuitting: () => boolean) {
    this.#sessions = sessions;
    this.#isQuitting = isQuitting;
    this.gone = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  listen(listener: (event: ProtocolEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async send<Result = Params>(method: string, params: Params = {}, sessionId?: string): Promise<Result> {
    if (sessionId === undefined) return (await this.#answer(method, params)) as Result;
    const tab = this.#tabs.get(sessionId);
    if (!tab) throw new ProtocolError(method, 'There is no such session.');
    return (await this.#command(tab, method, params, sessionId)) as Result;
  }

  close(): void {
    for (const id of this.#contexts.keys()) this.#disposeContext(id);
    this.#end();
  }

  /** Commands about the browser. */
  async #answer(method: string, params: Params): Promise<object> {
    switch (method) {
      case 'Target.createBrowserContext':
        return { browserContextId: await this.#createContext() };
      case 'Target.disposeBrowserContext':
        this.#disposeContext(String(params.browserContextId));
        return {};
      case 'Target.createTarget':
        return { targetId: await this.#createTarget(params) };
      case 'Target.attachToTarget': {
        const tab = this.#tabOfTarget.get(String(params.targetId));
        if (!tab) throw new ProtocolError(method, 'There is no such target.');
        return { sessionId: tab.id };
      }
      case 'Target.closeTarget':
        this.#tabOfTarget.get(String(params.targetId))?.window.destroy();
        return {};
      case 'Browser.getVersion':
        return { product: `Chrome/${process.versions.chrome}`, protocolVersion: '1.3' };
      case 'Browser.setDownloadBehavior':
        // The session cancels every download.
        return {};
      default:
        throw new ProtocolError(method, 'Electron has no such command for the whole browser.');
    }
  }

  async #command(tab: Tab, method: string, params: Params, sessionId: string): Promise<unknown> {
    // Electron itself would crash on some commands to a page that has crashed.
    if (tab.isGone || tab.window.isDestroyed()) return tab.gone;
    const { debugger: protocol } = tab.window.webContents;
    const answer =
      sessionId === tab.id
        ? protocol.sendCommand(method, params)
        : protocol.sendCommand(method, params, sessionId);
    try {
      return await Promise.race([answer, tab.gone]);
    } catch (error) {
      if (error instanceof BrowserGoneError) throw error;
      const message = error instanceof Error ? error.message : String(error);
      if (isAboutTheEnd(message)) return tab.gone;
      throw new ProtocolError(method, message);
    }
  }

  async #createContext(): Promise<string> {
    const id = randomUUID();
    this.#contexts.set(id, { session: await this.#sessions.take(), tabs: new Set() });
    return id;
  }

  #disposeContext(id: string): void {
    const context = this.#contexts.get(id);
    this.#contexts.delete(id);
    if (!context) return;
    for (const tab of context.tabs) {
      if (!tab.window.isDestroyed()) tab.window.destroy();
      tab.end();
    }
    inBackground(() => this.#sessions.giveBack(context.session));
  }

  async #createTarget({ browserContextId, width, height }: Params): Promise<string> {
    const context = this.#contexts.get(String(browserContextId));
    if (!context) throw new ProtocolError('Target.createTarget', 'There is no such context.');
    const tab = new Tab(context.session, { width: Number(width), height: Number(height) });
    context.tabs.add(tab);
    this.#tabs.set(tab.id, tab);
    tab.window.once('closed', () => this.#forget(tab));
    this.#close(tab);
    // Before a page is loaded, Electron answers no command.
    await tab.window.loadURL('about:blank');
    tab.window.webContents.debugger.attach('1.3');
    const { frameTree } = await tab.window.webContents.debugger.sendCommand('Page.getFrameTree');
    const target = String((frameTree as { frame: { id: string } }).frame.id);
    this.#tabOfTarget.set(target, tab);
    return target;
  }

  /** Closes what a page could open, and listens to it. */
  #close(tab: Tab): void {
    const { window } = tab;
    const { webContents } = window;
    webContents.setWindowOpenHandler(() => ({ action: 'deny' }));
    webContents.setWebRTCIPHandlingPolicy('disable_non_proxied_udp');
    webContents.setAudioMuted(true);
    webContents.setImageAnimationPolicy('noAnimation');
    webContents.on('will-attach-webview', (event) => event.preventDefault());
    webContents.on('will-prevent-unload', (event) => event.preventDefault());
    // A page may close its window; quitting the app closes it too, and `destroy` does not ask.
    window.on('close', (event) => {
      if (!this.#isQuitting()) event.preventDefault();
    });
    webContents.debugger.on('message', (_event, method, params, sessionId) =>
      this.#receive(tab, method, params as Params, sessionId),
    );
    webContents.debugger.on('detach', () => this.#onGone(tab));
    webContents.on('render-process-gone', () => {
      this.#emit({ method: 'Inspector.targetCrashed', params: {}, sessionId: tab.id });
      this.#onGone(tab);
    });
  }

  #receive(tab: Tab, method: string, params: Params, sessionId: string): void {
    if (method === 'Target.attachedToTarget') this.#tabs.set(String(params.sessionId), tab);
    this.#emit({ method, params, sessionId: sessionId === '' ? tab.id : sessionId });
    if (method === 'Target.detachedFromTarget') this.#tabs.delete(String(params.sessionId));
  }

  #emit(event: ProtocolEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #onGone(tab: Tab): void {
    if (!this.#isQuitting()) tab.end();
  }

  #forget(tab: Tab): void {
    if (this.#isQuitting()) return;
    tab.end();
    for (const tabs of [this.#tabs, this.#tabOfTarget])
      for (const [id, each] of tabs) if (each === tab) tabs.delete(id);
  }
}

/** Whether Electron says with this error that the window of a command is gone. */
function isAboutTheEnd(message: string): boolean {
  return /target closed|No target available/i.test(message);
}
