import { app, dialog, Menu, type MenuItemConstructorOptions, shell } from 'electron';
import type { RunningNode } from '../server/node.ts';
import { inBackground } from '../server/runtime/background.ts';
import { SETTING_PAGES, SIDEBAR_GROUPS } from '../shared/node/pages.ts';
import { type OpenedItems, QUICK_PAGES } from './opened.ts';
import type { Preferences, StoredPreferences } from './preferences.ts';
import type { DesktopWindows } from './windows.ts';

type Item = MenuItemConstructorOptions;
const LINE: Item = { type: 'separator' };

interface MenuServices {
  node: RunningNode;
  windows: DesktopWindows;
  preferences: Preferences;
  opened: OpenedItems;
  showLog: () => void;
}

/** Sets the application menu. On macOS it is at the top of the screen, elsewhere in the window (shown with Alt). */
export function setUpMenu(services: MenuServices): void {
  const { windows, preferences } = services;
  const isMac = process.platform === 'darwin';
  const settings = pageItem(windows, { to: '/settings', label: 'Settings…' }, 'CmdOrCtrl+,');
  const template: Item[] = [
    ...(isMac ? [macAppMenu(settings)] : []),
    { label: '&File', submenu: fileItems(services, isMac ? [{ role: 'close' }] : [settings, LINE, QUIT]) },
    {
      role: 'editMenu',
      submenu: [
        { role: 'undo' },
        { role: 'redo' },
        LINE,
        { role: 'cut' },
        { role: 'copy' },
        { role: 'paste' },
        { role: 'delete' },
        { role: 'selectAll' },
        LINE,
        { id: 'find', label: 'Find…', accelerator: 'CmdOrCtrl+F', click: () => windows.find() },
      ],
    },
    {
      role: 'viewMenu',
      submenu: [
        { role: 'reload' },
        LINE,
        { role: 'resetZoom' },
        { role: 'zoomIn' },
        { role: 'zoomOut' },
        LINE,
        { role: 'togglefullscreen' },
        { role: 'toggleDevTools' },
      ],
    },
    { label: '&Go', submenu: goItems(windows) },
    { role: 'windowMenu' },
    { role: 'help', submenu: helpItems(services) },
  ];
  const menu = Menu.buildFromTemplate(template);
  Menu.setApplicationMenu(menu);
  const showChoices = (current: StoredPreferences) => {
    for (const [id, , name] of CHOICES) {
      const item = menu.getMenuItemById(id);
      if (item) item.checked = current[name];
    }
  };
  preferences.onChange(showChoices);
  if (isMac) app.dock?.setMenu(Menu.buildFromTemplate(quickItems(windows)));
}

const QUIT: Item = { id: 'quit', role: 'quit' };

function macAppMenu(settings: Item): Item {
  return {
    label: app.name,
    submenu: [
      { role: 'about' },
      LINE,
      settings,
      LINE,
      { role: 'services' },
      LINE,
      { role: 'hide' },
      { role: 'hideOthers' },
      { role: 'unhide' },
      LINE,
      QUIT,
    ],
  };
}

/** The preferences that are items of the menu, too. */
const CHOICES = [
  ['keep-running', 'Keep Collecting when the Window Is Closed', 'keep_running'],
  ['open-at-login', 'Open at Login', 'open_at_login'],
] as const;

function fileItems({ node, windows, preferences, opened }: MenuServices, last: Item[]): Item[] {
  return [
    {
      id: 'new-window',
      label: 'New Window',
      accelerator: 'CmdOrCtrl+Alt+N',
      click: () => inBackground(() => windows.openAnother()),
    },
    pageItem(windows, { to: '/assemble', label: 'New Pack…' }, 'CmdOrCtrl+N'),
    pageItem(windows, { to: '/sources', label: 'Watch a Source…' }, 'CmdOrCtrl+Shift+N'),
    {
      id: 'open-pack',
      label: 'Open Pack…',
      accelerator: 'CmdOrCtrl+O',
      click: () => inBackground(() => choosePacks(opened)),
    },
    LINE,
    pageItem(windows, { to: '/verify', label: 'Verify a File…' }, 'CmdOrCtrl+Alt+V'),
    LINE,
    {
      id: 'show-data-folder',
      label: 'Show Data Folder',
      click: () => void shell.openPath(node.dataFolder),
    },
    ...CHOICES.map(
      ([id, label, name]): Item => ({
        id,
        label,
        type: 'checkbox',
        checked: preferences.current[name],
        click: ({ checked }) => inBackground(() => preferences.change({ [name]: checked })),
      }),
    ),
    LINE,
    ...last,
  ];
}

/** Asks for pack files. Each is added after confirmation, as when it was opened from the system. */
async function choosePacks(opened: OpenedItems): Promise<void> {
  const { filePaths } = await dialog.showOpenDialog({
    title: 'Open a pack',
    properties: ['openFile', 'multiSelections'],
    filters: [{ name: 'Packs', extensions: ['zip'] }],
  });
  for (const path of filePaths) opened.open({ file: path });
}

/** Every page of the sidebar, and every page of the settings. The first nine have Ctrl and a digit. */
function goItems(windows: DesktopWindows): Item[] {
  let number = 0;
  const pages = SIDEBAR_GROUPS.map(({ pages }) =>
    pages.map((page) => {
      number += 1;
      return pageItem(windows, page, number <= 9 ? `CmdOrCtrl+${number}` : undefined);
    }),
  );
  const settings = SETTING_PAGES.map(({ id, title }) =>
    pageItem(windows, { to: `/settings#${id}`, label: title }),
  );
  return [
    ...pages.flatMap((group, index) => (index === 0 ? group : [LINE, ...group])),
    LINE,
    { label: 'Settings Pages', submenu: settings },
  ];
}

function helpItems({ node, windows, showLog }: MenuServices): Item[] {
  return [
    pageItem(windows, { to: '/help', label: 'What’s New' }),
    { label: 'API Documentation', click: () => void shell.openExternal(`${node.url}/api/docs`) },
    LINE,
    { id: 'show-log', label: 'Show Log', click: showLog },
    pageItem(windows, { to: '/help#report', label: 'Report a Problem…' }),
  ];
}

function quickItems(windows: DesktopWindows): Item[] {
  return QUICK_PAGES.map((page) => pageItem(windows, page));
}

function pageItem(
  windows: DesktopWindows,
  { to, label }: { to: string; label: string },
  accelerator?: string,
): Item {
  return { id: `go ${to} ${label}`, label, accelerator, click: () => windows.goTo(to) };
}
