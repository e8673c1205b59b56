import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type LaunchOptions } from 'playwright';
import { packagedBrowser, packagedVariables } from '../../server/browser/chromium.ts';
import { installDebianPackages } from './debian.ts';

const isRoot = process.getuid?.() === 0;

/** Keep the browser off the network except for the tested pages. Chromium's sandbox does not run as root. */
const flags = [
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // A test is over before optimized code and spare processes have paid: a tenth of the processor's time.
  '--process-per-site',
  '--js-flags=--no-maglev,--no-opt',
  ...(isRoot ? ['--no-sandbox'] : []),
];

const namesOnPath = [
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  'microsoft-edge-stable',
  'microsoft-edge',
];

const fixedPlaces: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: [
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
  ],
  win32: [process.env.PROGRAMFILES, process.env['PROGRAMFILES(X86)'], process.env.LOCALAPPDATA]
    .filter((folder) => folder !== undefined)
    .flatMap((folder) => [
      join(folder, 'Google/Chrome/Application/chrome.exe'),
      join(folder, 'Microsoft/Edge/Application/msedge.exe'),
    ]),
};

function findSystemBrowser(): string | undefined {
  const places = fixedPlaces[process.platform];
  if (places) return places.find((place) => existsSync(place));
  const folders = (process.env.PATH ?? '').split(':').filter((folder) => folder.startsWith('/'));
  return namesOnPath
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((p) => existsSync(p));
}

/** Finds the browser for the tests: CHROMIUM_PATH, Playwright's, the system's, or a newly installed one. */
function findChromium(): string {
  const named = process.env.CHROMIUM_PATH;
  if (named) {
    if (existsSync(named)) return named;
    throw new Error(`CHROMIUM_PATH names ${named}, which does not exist.`);
  }
  const playwrights = chromium.executablePath();
  if (playwrights && existsSync(playwrights)) return playwrights;
  const found = findSystemBrowser();
  if (found) return found;
  installDebianPackages('Chromium', ['chromium', 'fonts-liberation', 'fonts-dejavu']);
  const installed = findSystemBrowser();
  if (installed) return installed;
  throw new Error(
    'No Chromium, Chrome or Edge was found: install one, run "npx playwright install chromium", ' +
      'or set CHROMIUM_PATH to the browser to test with.',
  );
}

/** The options for `chromium.launch()` with a whole browser, as a person has it. */
export function chromiumLaunchOptions(): LaunchOptions {
  return { executablePath: findChromium(), args: flags };
}

/**
 * The options for the specs. The headless shell that comes with `npm ci` is the same engine, and takes a third less of
 * the processor's time.
 */
export async function headlessLaunchOptions(): Promise<LaunchOptions> {
  const shell = process.env.CHROMIUM_PATH ? null : await packagedBrowser();
  if (shell === null) return chromiumLaunchOptions();
  return { executablePath: shell, args: flags, env: { ...process.env, ...packagedVariables(shell) } };
}
