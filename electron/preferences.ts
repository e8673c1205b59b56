import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { eventTypeSchema } from '../shared/collection/event.ts';
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
  /** Set by earlier versions; see `notifications.ts`. */
  notify: z.array(eventTypeSchema).catch([]),
  window: boundsSchema.optional().catch(undefined),
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
      current = { ...current, ...change };
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(`${file}.new`, `${JSON.stringify(current, null, 2)}\n`);
      renameSync(`${file}.new`, file);
      for (const listener of listeners) listener(current);
      return current;
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

function readJson(file: string): object {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
