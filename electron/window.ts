import { fileURLToPath } from 'node:url';
import { app, BrowserWindow, type Rectangle, screen } from 'electron';
import type { RunningNode } from '../server/node.ts';
import type { DesktopMessages } from './channels.ts';
import { VERSION_ARGUMENT } from './channels.ts';
import { setUpNavigation } from './guards.ts';
import { windowIcon } from './icon.ts';
import type { Preferences } from './preferences.ts';

/** The window of the app. */
export interface DesktopWindow {
  show(): void;
  /** Shows the window and opens a page of the interface, such as `/packs`. */
  goTo(path: string): void;
}

/** Opens the window at its last position, signed in as the owner. */
export async function setUpWindow(node: RunningNode, preferences: Preferences): Promise<DesktopWindow> {
  const window = new BrowserWindow({
    ...boundsToOpenWith(preferences),
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
  if (preferences.current.window?.maximized) window.maximize();
  setUpNavigation(window, new URL(node.url).origin);
  setUpClosing(window, preferences);
  window.webContents.on('render-process-gone', (_event, { reason }) => {
    if (reason !== 'clean-exit' && !window.isDestroyed()) window.reload();
  });
  window.once('ready-to-show', () => window.show());
  await window.loadURL(node.createSignInLink());
  return {
    show: () => show(window),
    goTo: (path) => {
      show(window);
      send(window, 'desktop:go-to', path);
    },
  };
}

function show(window: BrowserWindow): void {
  if (window.isMinimized()) window.restore();
  window.show();
  window.focus();
}

function send<Channel extends keyof DesktopMessages>(
  window: BrowserWindow,
  channel: Channel,
  ...args: DesktopMessages[Channel]
): void {
  window.webContents.send(channel, ...args);
}

/** Stores the bounds on closing. If the app keeps running, the window is only hidden, so that drafts are kept. */
function setUpClosing(window: BrowserWindow, preferences: Preferences): void {
  let quitting = false;
  app.on('before-quit', () => {
    quitting = true;
  });
  window.on('close', (event) => {
    preferences.change({ window: { ...window.getNormalBounds(), maximized: window.isMaximized() } });
    const stays = process.platform === 'darwin' || preferences.current.keep_running;
    if (!stays || quitting) return;
    event.preventDefault();
    window.hide();
  });
  app.on('window-all-closed', () => app.quit());
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
