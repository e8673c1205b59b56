import { fileURLToPath } from 'node:url';
import { app, BrowserWindow, dialog, type NativeImage, nativeImage, type Rectangle, screen } from 'electron';
import type { RunningNode } from '../server/node.ts';
import { inBackground } from '../server/runtime/background.ts';
import type { Log } from '../server/runtime/log.ts';
import { type DesktopMessages, VERSION_ARGUMENT } from './channels.ts';
import { setUpNavigation } from './guards.ts';
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
  /** How many events the owner has not seen. */
  #unseen = 0;

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
    this.#unseen = count;
    for (const window of this.#windows) this.#showDot(window);
  }

  #showDot(window: BrowserWindow): void {
    const words = this.#unseen === 1 ? '1 unseen event' : `${this.#unseen} unseen events`;
    window.setOverlayIcon(this.#unseen === 0 ? null : dotIcon(), words);
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
    // A window has a button in the taskbar only while it is shown.
    if (process.platform === 'win32') window.on('show', () => this.#showDot(window));
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

/** `renderer/public/icon.svg` as a PNG of 64 × 64 pixels. */
const ICON =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAYAAACqaXHeAAAIDklEQVR4nOSbCVAUZxbH/90zcsjtIige4x3UqCSuogZRTLzWNSomG6OblFlcyw3ZSmqTwC5lYogbI7q7ZuORaBJzmNJoKheRiGKBogTRoBiJIkpUQOQS5BIQmM77OoGiZ0bsb8YeEH5VPdXf6+6pfq+/ft977/tajzbwGhvp4eaCebQbKgiSPyT4QRDc0JGRpCq6x6u0kyUBX1ZVC7Hl6TEVtztdsCT0CYzydXJsjBIEYTk1nXBvUydJ2FpXr3uzOG1NkelBMwMYJkfOIelO2tzRmZBQaYT0VF7yutjWYl2rfaF/cMRrpPhWevL3+lM3R4Aj/S7yNAQ1VVxJOdIsbjGAIThiCSn+Nm0COimybgKmufeffLky92iGLGM/faZEhOggHKCGHl0BSWqQjOIfco+uPSiytk4Snu8yyjMEoRtE6Tl513fSSz6OerGwM3d9S0iEKEp+egedGNrVlGcwnZuaMF8vCliELgo99vl6+g2AjQwb6IMe7t1hT8oqbyL7UjFsgTrBBHJ8ktNtAsI2CfDvg5Xhs/Dg8L5oT9J/ysPqzfH4MbsA/EhOOs8BQavBybLHJmJDVCj6+nqivfHz8UDojABU36xHRtZVvosh6LmHvqULAhG1YgY6Eg7ddHiVeqORgv5Pvj7Oda3Ic3L/3l6I/Osj6Kj8a/l0+R554OoBYY9PhKOD8pJvEzORkHoepWXV4MHZyQEPjvzVf5zMzENtfQPP5fDu4YqZQf6YM2Vki4zd29LQQLxOPkEtXAaYMNqgaL//+fdYszUB1pCwPRyD+3vL+xeulGBm2BbwsjcpE9fLa/D0/PEtskCTe7wTql8BDzcnDB3go5AlpV2ANTDFm5VnDDX0xIA+PWANiceyFe3hg3vB080ZalFtAEvvVlVNPayhu1M3M5lrd0dYQznFA6b07aV+dOJygp0RuxuApR2D+3mbydkr0R4pid1S4N95umAlxQ/TH/JHd2cHs+Mb/rkAb7zwRySkZOH1d/ajvOIm7IFdesDs4OFI/Pg5zHtktEXlZejps2PsnCQ6lw1x9kBzA4QvCcamVx6Hm4v6MqO7qzO2rPoTViwKgtZo+gqEL56MF58JgTUwfxCx7GHWMfDOrqPQCs0MMH3SfXjxL9PM5JXVtXhvTyoyL1yTkxcWx4+gsXvUfX5ykuXuquwpL4c9jKycIiQdty7muBOaGECvE/FvcmimMCUi18eitFwZNh8uu4jDJy7is7iTiHn5UYSMH6o4vvqFOQh5eiMaGptwt9HEBzw1bxx6UqzeGhaxhUXtNFO+NewYO8f0abOU94nZD0ALNDFA6IwxinZFVS0i1seqvj5i3TcUZdYpZAtnaWOAu/IKjBrWGy7Ov4ayLA4fOaS34vgXB06jrKIGarl+owZfJfyoSHLGkI+YNXk4blTWyu2a2nqcyb4GW7HJAL7ebvh47Z/h5dF2PTD9bB54OXk2X2EABhsaW8OM+lLM17AFmwwwMWDgHZVnpGfmgpdTKozWw8MFE8YMgC3YZACaW1B1ntEIbupuNao6TxRtyx9scoLHTl9WFbOPGOwLXu438SOWYK9AasYl2IJNPaCotApjF67H6GF+LTE+C2TejX5CcR4rUiT/kAMeRgzppRRQb1u28jPcrLslN5udIHPAtnBXRgHTmvy5nEJZ6WYWz/09Po09QTd9S9X/MSMumTtOITtNyiamZeNuo0kcsHvfKUW7H1Vo1kcugFreojmHXj2VS5F2x6VDCzQxwK696bhapFyXNIvS2w/WLIa3l+ttr2PH2DlTTULhguIK7Ik/BS3QJBdgMXv0pu+wbfWTCjmL8RO2P4sPvjiGjHP58jvMkiH/gb5yifwZKmmzVNiUV96Ko5FE3YjDi2bZ4MHUbPzvoyT8Y6kyHfagSNFU1hZrtx3ULBNkaFoP2PRpMoxNEqXFIdz1PhZj/Hd7ErbtSYGWaF4T3LLrCH7OL0X032dThqhujSUbXldtjMOBlPPQGrsUReOPnJPT4SU0HD42M0AxRLZAT/wsFT527zsp1wW0yP0tYbeq8K2GJnz4ZZq8sSLp5leVic2z0XsQfzQL9qZdVoblF94wlxVVoD3o8jNDqntAiYVSlgfHJGRrausbLcj4pseb8bKwNqm4rApqUd0DCkuqzDK/qYFDYA0XaTqcefpmWNSYk1sKa5g2YZiizeqKxdfVr1Xg8gE/XSxE0NhBLe2whRPh4+WG/TSdVXZDfcmL8faOw/Af5IsmKhZkXyrhLmz4UDWKld5bL5BgnLnAVybjMsDmncmY9MBARRFi7rT75a0jwMLlTTuSua7hcoJpp69gA4W3HZX/bE/EKcoxeGDL5F7jueDEmVxcpexs/CgDnBy7oSPAyu6rNu7jXiHGEAxTIqgAL3Avz2DT3X97MghTxg1RLHexJ8xxshklNnd4ndMH/UYFM8BlZgfYQO+e7jD4WbfGx1pYfsHj7S0jnddLkpBBiZpNBrhWUilv9xqke5ZIv4fQRaGUO15s1OnUryrsZDToxHix4NCbWWSJ/ehiUPb9TeGhtZflOIBS7+dJZN2iv3sSqd7YoA9ne7IBClLWnTcaxRXoIpDzW56f+oa8tr7lu0H2HZ2H4SH2Kc1UdGLodY/OTV73/+a2WaWyX3DEoyKEHZ3x01naFl85EhPXWmyWC7BvaxtFaaQEaS86CUwXppOp8ow2a9X9giODBUgh9FoE0t8MkiD0oQtc0YGh6ZNqQUIBaZZD3f043XNiXnLMbVPEXwAAAP//NKk+sgAAAAZJREFUAwAf97ptI7oSJQAAAABJRU5ErkJggg==';

const TRAY_PIXELS = 22;

function windowIcon(): NativeImage {
  return nativeImage.createFromDataURL(ICON);
}

export function trayIcon(): NativeImage {
  return nativeImage.createFromDataURL(ICON).resize({ width: TRAY_PIXELS, height: TRAY_PIXELS });
}

/** A red dot of 32 × 32 pixels, which Windows lays over the icon in the taskbar. */
const DOT =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAYAAABzenr0AAABOklEQVR4AcXBsZHTQBQA0MdHAaEiUgog2ZCE8V4HbgEqMBVo1IHbIDMVWJ6hgC1FISHBJZIt39l33tF7H/5+/2pNYWVhZY37JGyxQULr2YiCEw4obtS4TUaHbFmLjIwOA3oMXtF4WYsOO/fJyNijx+iKcF2LI3bebocjWleEZS2OSN4v4YjWgrCsQ/I4CZ0F4VLGzuPtkJ0Jlzr1dM6EuYSsnoxkIsxt1bc1EeY26tuYCHNJfclEmGvV15oIKwtzo/pGE2GuqK+YCHMn9Z1MhLmD+g4mwlzBoJ4BxUS41KundyZcGrD3eHsMzoRlPYrHKegtCMtGPKF4v4InjBZ8/Pnlsyv+4Tc+4Zu32eMHRlc0XjbiF/6gQ3abAT0Gr2jcZsCAhC02SGg9G1FwwgHFjRr3KSgeKKwsrOw/UeA90f3VF9UAAAAASUVORK5CYII=';

function dotIcon(): NativeImage {
  return nativeImage.createFromDataURL(DOT);
}
