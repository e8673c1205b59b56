import { fileURLToPath } from 'node:url';
import { app, BrowserWindow, dialog, type NativeImage, nativeImage, type Rectangle, screen } from 'electron';
import type { RunningNode } from '../server/node.ts';
import { inBackground } from '../server/runtime/background.ts';
import { type DesktopMessages, VERSION_ARGUMENT } from './channels.ts';
import { setUpNavigation } from './guards.ts';
import type { Preferences } from './preferences.ts';

/** A window that crashed this often within this time is not loaded again. */
const MAX_CRASHES = 3;
const CRASHES_WITHIN_MS = 60_000;

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
  reloadAfterCrashes(window);
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

/** Reloads a window whose process crashed, unless it crashes again and again. */
function reloadAfterCrashes(window: BrowserWindow): void {
  let crashes: number[] = [];
  window.webContents.on('render-process-gone', (_event, { reason }) => {
    if (reason === 'clean-exit' || window.isDestroyed()) return;
    const now = Date.now();
    crashes = [...crashes.filter((at) => now - at < CRASHES_WITHIN_MS), now];
    if (crashes.length <= MAX_CRASHES) return window.reload();
    dialog.showErrorBox(
      'The window keeps crashing',
      'Your archive is safe, and collection continues. Quit Strongroom and start it again. If that does not help, open the archive in your browser: “npm start -- --browser”, or “strongroom serve”.',
    );
  });
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
    // If the disk is full, only the bounds are lost.
    inBackground(() =>
      preferences.change({ window: { ...window.getNormalBounds(), maximized: window.isMaximized() } }),
    );
    const stays = process.platform === 'darwin' || preferences.current.keep_running;
    if (!stays || quitting) return;
    event.preventDefault();
    window.hide();
  });
  // Windows in which pages are drawn may still be open.
  window.on('closed', () => app.quit());
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
