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
