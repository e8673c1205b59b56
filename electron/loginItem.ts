import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { app } from 'electron';
import { inBackground } from '../server/runtime/background.ts';
import type { Log } from '../server/runtime/log.ts';
import type { Preferences } from './preferences.ts';

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
