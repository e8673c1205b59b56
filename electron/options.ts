import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** The options on the app's command line. */
export interface StartOptions {
  /** The data folder, if it is not the default one for application data. */
  dataFolder?: string;
  /** The required port; if undefined, the default port or any free one. */
  port?: number;
  /** Start without showing the window, as at login. */
  hidden: boolean;
  /** Use the system's browser instead of a window. */
  browser: boolean;
  /** Open the browser; otherwise only print the link. */
  open: boolean;
}

/**
 * Parses the command line. Unless `strict`, unknown options are ignored, because they may be for Chromium or Electron.
 *
 * @throws Error with a message for the user
 */
export function readOptions(args: string[], { strict }: { strict: boolean }): StartOptions {
  const { values } = parseArgs({
    args,
    strict,
    allowPositionals: !strict,
    options: {
      data: { type: 'string' },
      port: { type: 'string' },
      hidden: { type: 'boolean', default: false },
      browser: { type: 'boolean', default: false },
      'no-open': { type: 'boolean', default: false },
    },
  });
  return {
    dataFolder: typeof values.data === 'string' ? resolve(values.data) : undefined,
    port: values.port === undefined ? undefined : portOf(values.port),
    hidden: values.hidden === true,
    browser: values.browser === true,
    open: values['no-open'] !== true,
  };
}

function portOf(text: string | boolean): number {
  const port = Number(text);
  if (typeof text !== 'string' || !/^\d+$/.test(text) || port > 65_535) {
    throw new Error(`${JSON.stringify(text)} is not a port. Use a number from 0 to 65535.`);
  }
  return port;
}

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
