import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { followMoves } from '../server/moving/archivePlace.ts';
import { desktopPreferencesSchema } from '../shared/node/owner.ts';

const boundsSchema = z.object({
  x: z.int(),
  y: z.int(),
  width: z.int().min(1),
  height: z.int().min(1),
  maximized: z.boolean(),
});

/** An invalid part is replaced by its default: preferences must never prevent an archive from opening. */
const keptSchema = z.object({
  keep_running: desktopPreferencesSchema.shape.keep_running.catch(false),
  open_at_login: desktopPreferencesSchema.shape.open_at_login.catch(false),
  /** Whether the graphics driver failed, so that it is not used; see `processes.ts`. */
  software_drawing: z.boolean().catch(false),
  window: boundsSchema.optional().catch(undefined),
  /** The folder of the archive, if it is not the default one. */
  archive: z.string().min(1).optional().catch(undefined),
  /** The folders of the archives that were opened last, the newest first. */
  recent: z.array(z.string()).catch([]),
});
export type StoredPreferences = z.output<typeof keptSchema>;

/** The settings of the app on this machine, which are kept between starts. */
export interface Preferences {
  readonly current: StoredPreferences;
  change(change: Partial<StoredPreferences>): StoredPreferences;
  /** Calls the listener after each change. */
  onChange(listener: (current: StoredPreferences) => void): void;
}

/** Reads the file of preferences. If it is missing or damaged, the defaults apply. */
export function openPreferences(file: string): Preferences {
  let current = keptSchema.parse(readJson(file));
  const listeners: ((current: StoredPreferences) => void)[] = [];
  return {
    get current() {
      return current;
    },
    change(change) {
      const changed = { ...current, ...change };
      mkdirSync(dirname(file), { recursive: true });
      // Synced: an old folder that was moved may be removed once the new one is stored here.
      writeFileSync(`${file}.new`, `${JSON.stringify(changed, null, 2)}\n`, { flush: true });
      renameSync(`${file}.new`, file);
      // Only what is stored counts: a choice that failed must not be stored by the next change.
      current = changed;
      for (const listener of listeners) listener(current);
      return current;
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

const MAX_RECENT = 8;

/** Returns the list of recent archives with this folder at its start. */
export function withRecent(recent: readonly string[], folder: string): string[] {
  return [folder, ...withoutRecent(recent, folder)].slice(0, MAX_RECENT);
}

/** Returns the list without a folder, such as one from which an archive was moved. */
export function withoutRecent(recent: readonly string[], folder: string): string[] {
  return recent.filter((each) => each !== folder);
}

/** Returns the folder of the archive to open: the one that was chosen, or the default one, wherever it was moved to. */
export function archiveToOpen(preferences: Preferences, defaultFolder: string): string {
  const { archive, recent } = preferences.current;
  const before = archive ?? defaultFolder;
  const folder = followMoves(before);
  // Stored, because the owner may remove the folder that says so.
  if (folder !== before)
    preferences.change({ archive: folder, recent: withRecent(withoutRecent(recent, before), folder) });
  return folder;
}

function readJson(file: string): object {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
