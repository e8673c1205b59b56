import { fileURLToPath } from 'node:url';
import { app, BrowserWindow, dialog, type Rectangle, screen } from 'electron';
import type { RunningNode } from '../server/node.ts';
import { inBackground } from '../server/runtime/background.ts';
import type { Log } from '../server/runtime/log.ts';
import { type DesktopMessages, VERSION_ARGUMENT } from './channels.ts';
import { setUpNavigation } from './guards.ts';
import { dotIcon, windowIcon } from './icons.ts';
import type { Preferences } from './preferences.ts';

/** A window that crashed this often within this time is not loaded again. */
const MAX_CRASHES = 3;
const CRASHES_WITHIN_MS = 60_000;
/** A new window is moved by this many pixels, so that it does not hide the last one. */
const CASCADE = 24;

interface WindowServices {
  node: RunningNode;
  preferences: Preferences;
  log: Log;
  /** Whether the app starts without showing its window, as at login. */
  hidden: boolean;
}

/** The windows of the app. All are signed in as the owner, with one session. */
export class DesktopWindows {
  readonly #services: WindowServices;
  /** The window that was used last is at the end. While the app runs, there is at least one; it may be hidden. */
  #windows: BrowserWindow[] = [];
  #isQuitting = false;

  private constructor(services: WindowServices) {
    this.#services = services;
    app.on('before-quit', () => {
      this.#isQuitting = true;
    });
  }

  /** Opens the first window at its last position and signs it in. */
  static async open(services: WindowServices): Promise<DesktopWindows> {
    const windows = new DesktopWindows(services);
    const { node, preferences, hidden } = services;
    const first = windows.#create(boundsToOpenWith(preferences), hidden);
    if (preferences.current.window?.maximized && !hidden) first.maximize();
    await first.loadURL(node.createSignInLink());
    return windows;
  }

  /** Opens another window. Its page has the session of the first. */
  async openAnother(): Promise<void> {
    const { width, height, x, y } = this.#last.getNormalBounds();
    const window = this.#create({ width, height, x: x + CASCADE, y: y + CASCADE }, false);
    await window.loadURL(this.#services.node.url);
  }

  /** Shows the window that was used last. */
  show(): void {
    const window = this.#last;
    if (window.isMinimized()) window.restore();
    window.show();
    window.focus();
  }

  /** Shows the window that was used last and opens a page of the interface, such as `/packs`. */
  goTo(path: string): void {
    this.show();
    this.#send('desktop:go-to', path);
  }

  /** Shows the window that was used last and opens the search of its page. */
  find(): void {
    this.show();
    this.#send('desktop:find');
  }

  /**
   * Shows at the icon of the app how many events the owner has not seen. On Windows it is a dot; on Linux, docks that know the
   * LauncherEntry interface show it.
   */
  showUnseen(count: number): void {
    if (process.platform !== 'win32') return void app.setBadgeCount(count);
    const words = count === 1 ? '1 unseen event' : `${count} unseen events`;
    for (const window of this.#windows) window.setOverlayIcon(count === 0 ? null : dotIcon(), words);
  }

  get #last(): BrowserWindow {
    const window = this.#windows.at(-1);
    if (!window) throw new Error('The app has no window.');
    return window;
  }

  #send<Channel extends keyof DesktopMessages>(channel: Channel, ...args: DesktopMessages[Channel]): void {
    this.#last.webContents.send(channel, ...args);
  }

  #create(bounds: Partial<Rectangle>, hidden: boolean): BrowserWindow {
    const window = new BrowserWindow({
      ...bounds,
      minWidth: 480,
      minHeight: 480,
      show: false,
      title: 'Strongroom',
      icon: windowIcon(),
      webPreferences: {
        preload: fileURLToPath(new URL('../preload/preload.cjs', import.meta.url)),
        contextIsolation: true,
        sandbox: true,
        nodeIntegration: false,
        nodeIntegrationInSubFrames: false,
        webviewTag: false,
        webSecurity: true,
        spellcheck: false,
        additionalArguments: [`${VERSION_ARGUMENT}${app.getVersion()}`],
      },
    });
    this.#windows.push(window);
    setUpNavigation(window, new URL(this.#services.node.url).origin);
    this.#setUpClosing(window);
    this.#reloadAfterCrashes(window);
    window.on('focus', () => {
      this.#windows = [...this.#windows.filter((other) => other !== window), window];
    });
    if (!hidden) window.once('ready-to-show', () => window.show());
    return window;
  }

  /** Reloads a window whose process crashed, unless it crashes again and again. */
  #reloadAfterCrashes(window: BrowserWindow): void {
    const { log } = this.#services;
    let crashes: number[] = [];
    window.on('unresponsive', () => log.warn({}, 'A window does not respond.'));
    window.webContents.on('render-process-gone', (_event, { reason, exitCode }) => {
      if (reason === 'clean-exit' || window.isDestroyed()) return;
      log.error({ reason, exitCode }, 'The process of a window ended unexpectedly.');
      const now = Date.now();
      crashes = [...crashes.filter((at) => now - at < CRASHES_WITHIN_MS), now];
      if (crashes.length <= MAX_CRASHES) return window.reload();
      dialog.showErrorBox(
        'The window keeps crashing',
        'Your archive is safe, and collection continues. Quit Strongroom and start it again. If that does not help, open the archive in your browser: “npm start -- --browser”, or “strongroom serve”.',
      );
    });
  }

  /**
   * Closes a window. If the app keeps running, the last window is only hidden, so that drafts are kept; its bounds are
   * stored.
   */
  #setUpClosing(window: BrowserWindow): void {
    const { preferences } = this.#services;
    window.on('close', (event) => {
      if (this.#windows.length > 1) return;
      // If the disk is full, only the bounds are lost.
      inBackground(() =>
        preferences.change({ window: { ...window.getNormalBounds(), maximized: window.isMaximized() } }),
      );
      const stays = process.platform === 'darwin' || preferences.current.keep_running;
      if (!stays || this.#isQuitting) return;
      event.preventDefault();
      window.hide();
    });
    window.on('closed', () => {
      this.#windows = this.#windows.filter((other) => other !== window);
      // Windows in which pages are drawn may still be open.
      if (this.#windows.length === 0) app.quit();
    });
  }
}

/** Returns the stored bounds if a screen still shows them, else a size that fits a page with its list. */
function boundsToOpenWith({ current }: Preferences): Partial<Rectangle> {
  const defaultSize = { width: 1280, height: 860 };
  if (!current.window) return defaultSize;
  const { maximized: _maximized, ...bounds } = current.window;
  const { workArea } = screen.getDisplayMatching(bounds);
  const isVisible =
    bounds.x < workArea.x + workArea.width &&
    bounds.x + bounds.width > workArea.x &&
    bounds.y >= workArea.y &&
    bounds.y < workArea.y + workArea.height;
  return isVisible ? bounds : defaultSize;
}
