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
export const asked = { relaunch: 0, quit: 0, errors: [] as string[], menus: [] as MenuEntry[][] };

export function forget(): void {
  Object.assign(asked, { relaunch: 0, quit: 0, errors: [], menus: [] });
}

export const app = {
  name: 'Strongroom',
  on: () => undefined,
  relaunch: () => void (asked.relaunch += 1),
  quit: () => void (asked.quit += 1),
};

export const Menu = {
  buildFromTemplate: (entries: MenuEntry[]) => asked.menus.push(entries),
  setApplicationMenu: () => undefined,
};

export class Tray {
  setToolTip(): void {}
  setContextMenu(): void {}
  on(): void {}
}

export const nativeImage = { createFromDataURL: () => ({ resize: () => ({}) }) };

export const dialog = {
  showErrorBox: (title: string) => void asked.errors.push(title),
  showOpenDialog: async () => ({ filePaths: [] }),
};

export const shell = { openPath: () => undefined, openExternal: () => undefined };
