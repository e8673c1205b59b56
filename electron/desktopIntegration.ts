import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { app, Menu, Notification, Tray } from 'electron';
import type { RunningNode } from '../server/node.ts';
import { every, inBackground } from '../server/runtime/background.ts';
import type { Log } from '../server/runtime/log.ts';
import { type Status, statusSchema } from '../shared/collection/collection.ts';
import { PROBLEMS, type ProblemDocument } from '../shared/problems.ts';
import type { Preferences } from './preferences.ts';
import { type DesktopWindows, trayIcon } from './windows.ts';

/** The interval at which the state is requested. */
const REFRESH_INTERVAL_MS = 30_000;

/** Adds an icon to the system tray, with the state of the collection, “Open” and “Quit”. */
export function setUpTray(node: RunningNode, windows: DesktopWindows): void {
  const tray = new Tray(trayIcon());
  let shown: string | undefined;
  const show = (state: string) => {
    // An open menu closes when it is replaced.
    if (state === shown) return;
    shown = state;
    tray.setToolTip(`Strongroom: ${state}`);
    tray.setContextMenu(
      Menu.buildFromTemplate([
        { id: 'state', label: state, enabled: false },
        { type: 'separator' },
        { id: 'open', label: 'Open Strongroom', click: () => windows.show() },
        { id: 'quit', label: 'Quit', click: () => app.quit() },
      ]),
    );
  };
  const refresh = async () => show(await readState(node.url));
  const timer = every(REFRESH_INTERVAL_MS, refresh);
  node.onAway(() => inBackground(refresh));
  show('starting');
  inBackground(refresh);
  tray.on('click', () => windows.show());
  app.on('will-quit', () => {
    clearInterval(timer);
    tray.destroy();
  });
}

async function readState(nodeUrl: string): Promise<string> {
  try {
    const response = await fetch(new URL('/api/status', nodeUrl));
    const answer: unknown = await response.json();
    const isAway = (Object(answer) as Partial<ProblemDocument>).code === 'data_folder_away';
    return isAway ? 'the disk of the archive cannot be reached' : describeStatus(statusSchema.parse(answer));
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

/** A notification that is collected as garbage no longer reports clicks. Systems show only some anyway. */
const MAX_KEPT = 50;

/** Shows the alerts for this desktop, and that the disk of the archive cannot be reached. */
export function setUpNotifications(node: RunningNode, windows: DesktopWindows): void {
  if (!Notification.isSupported()) return;
  const kept: Notification[] = [];
  const show = (title: string, body: string, onClick: () => void) => {
    const notification = new Notification({ title, body });
    notification.on('click', onClick);
    kept.push(notification);
    if (kept.length > MAX_KEPT) kept.shift();
    notification.show();
  };
  node.showAlerts(({ title, alerts: [first, ...others] }) => {
    const body = others.length === 0 ? (first?.text ?? '') : (first?.title ?? '');
    const path = URL.parse(first?.link ?? '');
    show(title, body, () => windows.goTo(path && others.length === 0 ? path.pathname : '/alerts'));
  });
  // No alert can: alerts are in the archive.
  node.onAway((isAway) => {
    const body = isAway
      ? `Connect the disk with ${node.dataFolder} again, and Strongroom continues by itself.`
      : 'Strongroom continues.';
    const { title } = PROBLEMS.data_folder_away;
    show(isAway ? title : 'The disk of the archive is back', body, () => windows.show());
  });
}

const HIDDEN = '--hidden';

/**
 * Makes the app start at login whenever the preference says so. Electron does it on macOS and Windows; on Linux it is a file of
 * the XDG autostart specification. Nothing is touched until the preference is changed for the first time.
 */
export function setUpLoginItem(preferences: Preferences, log: Log): void {
  let isSet = preferences.current.open_at_login;
  preferences.onChange(({ open_at_login }) => {
    if (open_at_login === isSet) return;
    isSet = open_at_login;
    inBackground(
      () => setLoginItem(open_at_login),
      (error) => log.error({ error }, 'Whether the app opens at login could not be changed.'),
    );
  });
}

/** Returns whether the app was started by the login, and so does not show its window. */
export function wasOpenedAtLogin(): boolean {
  return process.platform === 'darwin' && app.getLoginItemSettings().wasOpenedAtLogin;
}

function setLoginItem(openAtLogin: boolean): void {
  if (process.platform !== 'linux') {
    app.setLoginItemSettings({
      openAtLogin,
      ...(process.platform === 'win32' && { path: process.execPath, args: [HIDDEN] }),
    });
    return;
  }
  const folder = join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'autostart');
  const file = join(folder, 'strongroom.desktop');
  if (!openAtLogin) return rmSync(file, { force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, autostartEntry());
}

/** https://specifications.freedesktop.org/desktop-entry-spec/latest/exec-variables.html */
function autostartEntry(): string {
  // An AppImage is mounted at another path each time it is started.
  const program = process.env.APPIMAGE ?? process.execPath;
  const args = app.isPackaged ? [HIDDEN] : [app.getAppPath(), HIDDEN];
  const words = [program, ...args].map(
    (word) => `"${word.replaceAll(/["`$\\]/g, '\\$&').replaceAll('%', '%%')}"`,
  );
  // The value of a key is escaped once more.
  const exec = words.join(' ').replaceAll('\\', '\\\\');
  return `[Desktop Entry]\nType=Application\nName=Strongroom\nExec=${exec}\nX-GNOME-Autostart-enabled=true\n`;
}
