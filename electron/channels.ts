import type {
  DesktopArchives,
  DesktopPreferences,
  DesktopPreferencesChange,
  MoveProgress,
} from '../shared/node/owner.ts';

/** The calls that a page may make to the main process, by channel. The page gets a promise of the result. */
export interface DesktopCalls {
  'desktop:read-preferences': () => DesktopPreferences;
  'desktop:change-preferences': (change: DesktopPreferencesChange) => DesktopPreferences;
  'desktop:show-data-folder': () => void;
  'desktop:show-log': () => void;
  'desktop:read-archives': () => DesktopArchives;
  'desktop:choose-folder': () => string | null;
  'desktop:open-archive': (folder: string) => string | null;
  'desktop:create-archive': (folder: string) => string | null;
  'desktop:move-archive': (folder: string) => string | null;
  'desktop:read-move-progress': () => MoveProgress | null;
}

/** The messages that the main process sends to the page, by channel. */
export interface DesktopMessages {
  'desktop:go-to': [path: string];
  'desktop:find': [];
}

/** The argument that passes the app's version to the preload script, which cannot make calls before the page runs. */
export const VERSION_ARGUMENT = '--strongroom-version=';
