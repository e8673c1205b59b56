import { resolve } from 'node:path';
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
