import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** How the app is started; what is left out has its default. */
export interface StartOptions {
  /** An archive other than the one in the system's own place for application data. */
  dataFolder?: string;
  /** A port that must be had; without one, the usual port or any free one. */
  port?: number;
  /** The interface in the system's browser rather than in a window of its own. */
  browser: boolean;
  /** Whether the browser is opened, or its link only printed. */
  open: boolean;
}

/**
 * Reads the options of the command line. What Chromium and Electron understand by themselves is passed over unless
 * `strict`.
 *
 * @throws an Error with a sentence for the person who typed it.
 */
export function readOptions(args: string[], { strict }: { strict: boolean }): StartOptions {
  const { values } = parseArgs({
    args,
    strict,
    allowPositionals: !strict,
    options: {
      data: { type: 'string' },
      port: { type: 'string' },
      browser: { type: 'boolean', default: false },
      'no-open': { type: 'boolean', default: false },
    },
  });
  return {
    dataFolder: typeof values.data === 'string' ? resolve(values.data) : undefined,
    port: values.port === undefined ? undefined : portOf(values.port),
    browser: values.browser === true,
    open: values['no-open'] !== true,
  };
}

function portOf(text: string | boolean): number {
  const port = Number(text);
  if (typeof text !== 'string' || !/^\d+$/.test(text) || port > 65_535) {
    throw new Error(`${JSON.stringify(text)} is no port: 0 to 65535.`);
  }
  return port;
}
