import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The name of the app when it runs from a checkout, as package.json has it. */
const APP_NAME = 'strongroom';

/** Returns the app's default data folder: in Electron's `userData`, so that window and browser open the same archive. */
export function defaultDataFolder(): string {
  return join(applicationData(), APP_NAME, 'archive');
}

function applicationData(): string {
  switch (process.platform) {
    case 'darwin':
      return join(homedir(), 'Library', 'Application Support');
    case 'win32':
      return process.env.APPDATA || join(homedir(), 'AppData', 'Roaming');
    default:
      return process.env.XDG_CONFIG_HOME || join(homedir(), '.config');
  }
}

/**
 * Opens a URL in the system's browser, without waiting for the result. If there is no browser or no display, the printed
 * link can be used.
 */
export function openBrowser(url: string): void {
  const command = commandFor(url);
  if (command === undefined) return;
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  child.on('error', (error) => process.stderr.write(`The browser could not be opened: ${error.message}.\n`));
  child.unref();
}

function commandFor(url: string): [string, ...string[]] | undefined {
  switch (process.platform) {
    case 'darwin':
      return ['open', url];
    case 'win32':
      return ['rundll32', 'url.dll,FileProtocolHandler', url];
    default:
      // Without a display, a text browser would take over the terminal.
      return process.env.DISPLAY || process.env.WAYLAND_DISPLAY ? ['xdg-open', url] : undefined;
  }
}
