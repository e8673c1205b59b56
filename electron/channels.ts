import type { DesktopPreferences, DesktopPreferencesChange } from '../shared/desktop.ts';

/** What a page may ask of the main process, by channel. The answer is a promise on the page's side. */
export interface DesktopCalls {
  'desktop:read-preferences': () => DesktopPreferences;
  'desktop:change-preferences': (change: DesktopPreferencesChange) => DesktopPreferences;
  'desktop:show-data-folder': () => void;
}

/** What the main process tells the page, by channel. */
export interface DesktopMessages {
  'desktop:go-to': [path: string];
}

/** How the main process hands its version to the preload script, which may ask nothing before the page runs. */
export const VERSION_ARGUMENT = '--strongroom-version=';
