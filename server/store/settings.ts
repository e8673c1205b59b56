import {
  DEFAULT_SETTINGS,
  DEFAULT_SHARING,
  type Settings,
  type SettingsChange,
  type Sharing,
  settingsSchema,
  sharingSchema,
} from '../../shared/node/settings.ts';
import { readSetting, writeSetting } from './sqlite/node/owner.ts';
import type { Store } from './store.ts';

/** The owner's settings, merged over the defaults. */
export interface SettingsStore {
  readonly current: Settings;
  readonly sharing: Sharing;
  /** Changes the named settings and keeps the others; resolves when the change is durable. */
  change(change: SettingsChange): Promise<Settings>;
  /** Like `change`, with a change that depends on the settings before it. */
  update(change: (before: Settings) => SettingsChange): Promise<Settings>;
  setSharing(sharing: Sharing): Promise<Sharing>;
  /** Calls a listener after each change of the settings. */
  onChange(listener: () => void): void;
}

export function openSettings({ read, write }: Pick<Store, 'read' | 'write'>): SettingsStore {
  let changed = validSettings(readSetting(read, 'settings'));
  let current: Settings = { ...DEFAULT_SETTINGS, ...changed };
  let sharing = sharingSchema.parse(readSetting(read, 'sharing') ?? DEFAULT_SHARING);
  const listeners: (() => void)[] = [];
  const update = async (change: (before: Settings) => SettingsChange) => {
    // Merged inside the transaction, so that concurrent changes do not undo each other.
    changed = await write((database) => {
      const before = validSettings(readSetting(database, 'settings'));
      const merged = { ...before, ...change({ ...DEFAULT_SETTINGS, ...before }) };
      writeSetting(database, 'settings', merged);
      return merged;
    });
    current = { ...DEFAULT_SETTINGS, ...changed };
    for (const listener of listeners) listener();
    return current;
  };
  return {
    update,
    change: (change) => update(() => change),
    onChange: (listener) => void listeners.push(listener),
    get current() {
      return current;
    },
    get sharing() {
      return sharing;
    },
    async setSharing(next) {
      await write((database) => writeSetting(database, 'sharing', next));
      sharing = next;
      return sharing;
    },
  };
}

/** Drops stored settings that this version no longer accepts; their defaults apply. */
function validSettings(stored: unknown): SettingsChange {
  const set = Object.entries(stored ?? {});
  const valid = set.filter(([name, value]) => settingsSchema.partial().safeParse({ [name]: value }).success);
  return settingsSchema.partial().parse(Object.fromEntries(valid));
}
