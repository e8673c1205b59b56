import {
  DEFAULT_SETTINGS,
  DEFAULT_SHARING,
  type Settings,
  type SettingsChange,
  type Sharing,
  settingsSchema,
  sharingSchema,
} from '../../shared/settings.ts';
import { readSetting, writeSetting } from './sqlite/node/settings.ts';
import type { Store } from './store.ts';

/** What the owner has set; everything else is at its default. */
export interface SettingsStore {
  readonly current: Settings;
  readonly sharing: Sharing;
  /** Changes what is named and leaves the rest; resolves when it is durable. */
  change(change: SettingsChange): Promise<Settings>;
  setSharing(sharing: Sharing): Promise<Sharing>;
}

export function openSettings({ read, write }: Pick<Store, 'read' | 'write'>): SettingsStore {
  let changed = stillValid(readSetting(read, 'settings'));
  let current: Settings = { ...DEFAULT_SETTINGS, ...changed };
  let sharing = sharingSchema.parse(readSetting(read, 'sharing') ?? DEFAULT_SHARING);
  return {
    get current() {
      return current;
    },
    get sharing() {
      return sharing;
    },
    async change(change) {
      // Merged inside the transaction, so that two changes at once cannot undo each other.
      changed = await write((database) => {
        const merged = {
          ...stillValid(readSetting(database, 'settings')),
          ...change,
        };
        writeSetting(database, 'settings', merged);
        return merged;
      });
      current = { ...DEFAULT_SETTINGS, ...changed };
      return current;
    },
    async setSharing(next) {
      await write((database) => writeSetting(database, 'sharing', next));
      sharing = next;
      return sharing;
    },
  };
}

/** What was set before, without what a newer rule no longer allows: the node then starts with the default of that. */
function stillValid(stored: unknown): SettingsChange {
  const set = Object.entries(stored ?? {});
  const valid = set.filter(([name, value]) => settingsSchema.partial().safeParse({ [name]: value }).success);
  return settingsSchema.partial().parse(Object.fromEntries(valid));
}
