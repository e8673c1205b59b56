import { app, Menu, type MenuItemConstructorOptions, shell } from 'electron';
import type { RunningNode } from '../server/node.ts';
import type { Preferences } from './preferences.ts';
import type { DesktopWindow } from './window.ts';

type Items = MenuItemConstructorOptions[];

/** Sets the application menu. On macOS it is at the top of the screen, elsewhere in the window (shown with Alt). */
export function setUpMenu(node: RunningNode, window: DesktopWindow, preferences: Preferences): void {
  const isMac = process.platform === 'darwin';
  const goTo = (label: string, path: string, accelerator?: string): MenuItemConstructorOptions => ({
    label,
    accelerator,
    click: () => window.goTo(path),
  });
  const settings = goTo('Settings…', '/settings', 'CmdOrCtrl+,');
  const template: Items = [
    ...(isMac ? [macAppMenu(settings)] : []),
    {
      label: '&File',
      submenu: [
        goTo('New Pack…', '/assemble', 'CmdOrCtrl+N'),
        goTo('Watch a Source…', '/sources', 'CmdOrCtrl+Shift+N'),
        { type: 'separator' },
        {
          id: 'show-data-folder',
          label: 'Show Data Folder',
          click: () => void shell.openPath(node.dataFolder),
        },
        keepRunningItem(preferences),
        { type: 'separator' },
        ...(isMac ? [] : [settings, { type: 'separator' as const }]),
        isMac ? { role: 'close' } : { id: 'quit', role: 'quit' },
      ],
    },
    { role: 'editMenu' },
    {
      label: '&Go',
      submenu: [
        goTo('Overview', '/', 'CmdOrCtrl+1'),
        goTo('Packs', '/packs', 'CmdOrCtrl+2'),
        goTo('Studies', '/studies', 'CmdOrCtrl+3'),
        goTo('Sources', '/sources', 'CmdOrCtrl+4'),
        goTo('Timeline', '/timeline', 'CmdOrCtrl+5'),
        { id: 'go-to-ledger', ...goTo('Ledger', '/ledger', 'CmdOrCtrl+6') },
        goTo('Sharing', '/sharing', 'CmdOrCtrl+8'),
      ],
    },
    { role: 'viewMenu' },
    { role: 'windowMenu' },
    {
      role: 'help',
      submenu: [{ label: 'API Documentation', click: () => void shell.openExternal(`${node.url}/api/docs`) }],
    },
  ];
  Menu.setApplicationMenu(Menu.buildFromTemplate(template));
}

function macAppMenu(settings: MenuItemConstructorOptions): MenuItemConstructorOptions {
  return {
    label: app.name,
    submenu: [
      { role: 'about' },
      { type: 'separator' },
      settings,
      { type: 'separator' },
      { role: 'services' },
      { type: 'separator' },
      { role: 'hide' },
      { role: 'hideOthers' },
      { role: 'unhide' },
      { type: 'separator' },
      { id: 'quit', role: 'quit' },
    ],
  };
}

function keepRunningItem(preferences: Preferences): MenuItemConstructorOptions {
  return {
    id: 'keep-running',
    label: 'Keep Collecting when the Window Is Closed',
    type: 'checkbox',
    checked: preferences.current.keep_running,
    click: ({ checked }) => void preferences.change({ keep_running: checked }),
  };
}
