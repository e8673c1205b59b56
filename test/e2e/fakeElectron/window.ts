import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { answerHost, app, CancelableEvent, host } from './app.ts';
import { Debugger } from './debugger.ts';
import { type Session, session } from './system.ts';

interface WindowOptions {
  width?: number;
  height?: number;
  webPreferences: {
    /** Only the window of the app has a preload. */
    preload?: string;
    additionalArguments?: string[];
    session?: Session;
    [option: string]: unknown;
  };
}

let lastId = 0;

class WebContents extends EventEmitter {
  readonly downloads: string[] = [];
  readonly debugger: Debugger;
  readonly id = (lastId += 1);
  #options: WindowOptions;
  #openHandler: (details: { url: string }) => { action: string } = () => ({ action: 'allow' });

  constructor(options: WindowOptions) {
    super();
    this.#options = options;
    this.debugger = new Debugger(options.webPreferences.session ?? session.defaultSession);
  }

  setWebRTCIPHandlingPolicy(_policy: string): void {}
  setAudioMuted(_muted: boolean): void {}
  setImageAnimationPolicy(_policy: string): void {}
  getLastWebPreferences = (): WindowOptions['webPreferences'] => this.#options.webPreferences;
  downloadURL = (url: string): void => void this.downloads.push(url);
  send = (channel: string, ...args: unknown[]): void => void host.call('deliver', this.id, channel, args);
  setWindowOpenHandler(handler: (details: { url: string }) => { action: string }): void {
    this.#openHandler = handler;
  }
  mayOpen = (url: string): boolean => this.#openHandler({ url }).action === 'allow';

  mayNavigate(url: string, isMainFrame: boolean): boolean {
    const event = Object.assign(new CancelableEvent(), { url, isMainFrame });
    this.emit('will-frame-navigate', event);
    if (isMainFrame) this.emit('will-navigate', event);
    return !event.defaultPrevented;
  }
}

/** A window of the app is a page of the host. Hidden windows, in which pages are drawn, have only a debugger. */
export class BrowserWindow extends EventEmitter {
  static readonly #all: BrowserWindow[] = [];
  static getAllWindows = (): BrowserWindow[] => [...BrowserWindow.#all];
  readonly webContents: WebContents;
  #options: WindowOptions;
  #state = { visible: false, minimized: false, maximized: false, focused: false };

  constructor(options: WindowOptions) {
    super();
    this.#options = options;
    this.webContents = new WebContents(options);
    BrowserWindow.#all.push(this);
  }

  async loadURL(url: string): Promise<void> {
    const { preload, additionalArguments = [] } = this.#options.webPreferences;
    if (preload === undefined) {
      if (url !== 'about:blank') throw new Error('A hidden window is driven by its debugger.');
      return;
    }
    await host.call('open', {
      id: this.webContents.id,
      url,
      preload: readFileSync(preload, 'utf8'),
      argv: [...process.argv, ...additionalArguments],
      mayCopy: await session.defaultSession.grants('clipboard-sanitized-write'),
      viewport: { width: this.#options.width ?? 800, height: this.#options.height ?? 600 },
    });
    this.emit('ready-to-show');
  }

  close = (): void => {
    const event = new CancelableEvent();
    this.emit('close', event);
    if (!event.defaultPrevented) this.destroy();
  };

  destroy = (): void => {
    if (this.isDestroyed()) return;
    BrowserWindow.#all.splice(BrowserWindow.#all.indexOf(this), 1);
    if (this.#options.webPreferences.preload === undefined) void this.webContents.debugger.end();
    else void host.call('close', this.webContents.id);
    this.emit('closed');
    if (BrowserWindow.#all.length === 0) app.emit('window-all-closed');
  };

  show = (): void => void Object.assign(this.#state, { visible: true });
  setOverlayIcon = (_icon: object | null, _description: string): void => undefined;
  hide = (): void => void Object.assign(this.#state, { visible: false, focused: false });
  focus = (): void => {
    Object.assign(this.#state, { focused: true });
    this.emit('focus');
  };
  blur = (): void => void Object.assign(this.#state, { focused: false });
  minimize = (): void => void Object.assign(this.#state, { minimized: true, focused: false });
  restore = (): void => void Object.assign(this.#state, { minimized: false });
  maximize = (): void => void Object.assign(this.#state, { maximized: true });
  isVisible = (): boolean => this.#state.visible;
  isMinimized = (): boolean => this.#state.minimized;
  isMaximized = (): boolean => this.#state.maximized;
  isFocused = (): boolean => this.#state.focused;
  isDestroyed = (): boolean => !BrowserWindow.#all.includes(this);
  reload = (): void => void host.call('reload', this.webContents.id);
  getNormalBounds = (): object => ({
    x: 0,
    y: 0,
    width: this.#options.width ?? 800,
    height: this.#options.height ?? 600,
  });
}

type InvokeEvent = { senderFrame: { origin: string; parent: object | null } };
const invokable = new Map<string, (event: InvokeEvent, ...args: unknown[]) => unknown>();
export const ipcMain = {
  handle: (channel: string, handler: (event: InvokeEvent, ...args: unknown[]) => unknown): void =>
    void invokable.set(channel, handler),
};

/** Calls from a page go to the listeners of its window. Without a window, nothing is allowed. */
const contentsOf = (id?: number) =>
  BrowserWindow.getAllWindows().find(({ webContents }) => id === undefined || webContents.id === id)
    ?.webContents;
answerHost({
  mayNavigate: (id: number, url: string, isMainFrame: boolean) =>
    contentsOf(id)?.mayNavigate(url, isMainFrame),
  mayOpen: (url: string) => contentsOf()?.mayOpen(url),
  invoke: (channel: string, args: unknown[], frame: { origin: string; isMain: boolean }) =>
    invokable.get(channel)?.(
      { senderFrame: { origin: frame.origin, parent: frame.isMain ? null : {} } },
      ...args,
    ),
  closeByUser: () => BrowserWindow.getAllWindows()[0]?.close(),
});
app.onQuitCloseWindows(() => {
  for (const window of BrowserWindow.getAllWindows()) window.close();
  return BrowserWindow.getAllWindows().length === 0;
});
