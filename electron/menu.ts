import { app, Menu, type MenuItemConstructorOptions, shell, Tray } from 'electron';
import type { RunningNode } from '../server/node.ts';
import { every, inBackground } from '../server/runtime/background.ts';
import { type Status, statusSchema } from '../shared/collection/collection.ts';
import type { Preferences } from './preferences.ts';
import { type DesktopWindow, trayIcon } from './window.ts';

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
    click: ({ checked }) => inBackground(() => preferences.change({ keep_running: checked })),
  };
}

/** The interval at which the state is requested. */
const REFRESH_INTERVAL_MS = 30_000;

/** Adds an icon to the system tray, with the state of the collection, “Open” and “Quit”. */
export function setUpTray(node: RunningNode, window: DesktopWindow): void {
  const tray = new Tray(trayIcon());
  const show = (state: string) => {
    tray.setToolTip(`Strongroom: ${state}`);
    tray.setContextMenu(
      Menu.buildFromTemplate([
        { id: 'state', label: state, enabled: false },
        { type: 'separator' },
        { id: 'open', label: 'Open Strongroom', click: () => window.show() },
        { id: 'quit', label: 'Quit', click: () => app.quit() },
      ]),
    );
  };
  const refresh = async () => show(await readState(node.url));
  const timer = every(REFRESH_INTERVAL_MS, refresh);
  show('starting');
  inBackground(refresh);
  tray.on('click', () => window.show());
  app.on('will-quit', () => {
    clearInterval(timer);
    tray.destroy();
  });
}

async function readState(nodeUrl: string): Promise<string> {
  try {
    const response = await fetch(new URL('/api/status', nodeUrl));
    return describeStatus(statusSchema.parse(await response.json()));
  } catch {
    return 'the node does not answer';
  }
}

function describeStatus({ reason, sources, storage }: Status): string {
  if (storage !== null) return 'the disk or the archive is full, so nothing new is stored';
  if (reason === 'no_sources') return 'no sources are watched yet';
  const counted = `${sources.total} ${sources.total === 1 ? 'source' : 'sources'}`;
  if (reason === 'overdue') return `${counted}, none checked within a day`;
  if (reason === 'not_yet') return `${counted}, not checked yet`;
  return sources.failing === 0 ? `${counted}, all well` : `${counted}, ${sources.failing} failing`;
}
