import { EventEmitter } from 'node:events';

/**
 * What the parts of the desktop app that unit tests run use of Electron. It records what they do. Test files share a
 * process and with it the modules that were loaded first, so all of them use this one: `vi.mock('electron', () =>
 * import('../support/electronDouble.ts'))`.
 */
export interface MenuEntry {
  label?: string;
  submenu?: MenuEntry[];
  click?: (item: { checked: boolean }) => void;
}

/** What the app asked of Electron since the last `forget`. */
export const asked = {
  relaunch: 0,
  quit: 0,
  errors: [] as string[],
  menus: [] as MenuEntry[][],
  /** The menus that the tray got, and its tool tips. */
  trayMenus: [] as MenuEntry[][],
  toolTips: [] as string[],
  /** What each window shows over the icon of the app in the taskbar, or undefined if it has never been told. */
  overlays: [] as (string | undefined)[],
};

const willQuit: (() => void)[] = [];

export function forget(): void {
  Object.assign(asked, {
    relaunch: 0,
    quit: 0,
    errors: [],
    menus: [],
    trayMenus: [],
    toolTips: [],
    overlays: [],
  });
}

/** Tells the parts of the app that it ends. */
export function quitApp(): void {
  for (const listener of willQuit.splice(0)) listener();
}

export const app = {
  name: 'Strongroom',
  on: (event: string, listener: () => void) => void (event === 'will-quit' && willQuit.push(listener)),
  relaunch: () => void (asked.relaunch += 1),
  quit: () => void (asked.quit += 1),
  getVersion: () => '1.0.0',
};

export const Menu = {
  buildFromTemplate: (entries: MenuEntry[]) => {
    asked.menus.push(entries);
    return entries;
  },
  setApplicationMenu: () => undefined,
};

/** A window whose page is ready as soon as `loadURL` is called. */
export class BrowserWindow extends EventEmitter {
  readonly webContents = Object.assign(new EventEmitter(), { setWindowOpenHandler: () => undefined });
  readonly #place = asked.overlays.push(undefined) - 1;
  getNormalBounds = () => ({ x: 0, y: 0, width: 800, height: 600 });
  show = () => this.emit('show');
  async loadURL(): Promise<void> {
    this.emit('ready-to-show');
  }
  setOverlayIcon(icon: object | null, words: string): void {
    asked.overlays[this.#place] = icon === null ? 'none' : words;
  }
}

export class Tray {
  setToolTip(words: string): void {
    asked.toolTips.push(words);
  }
  setContextMenu(menu: MenuEntry[]): void {
    asked.trayMenus.push(menu);
  }
  on(): void {}
  destroy(): void {}
}

export const nativeImage = { createFromDataURL: () => ({ resize: () => ({}) }) };

export const dialog = {
  showErrorBox: (title: string) => void asked.errors.push(title),
  showOpenDialog: async () => ({ filePaths: [] }),
};

export const shell = { openPath: () => undefined, openExternal: () => undefined };
