import { z } from 'zod';
import { eventTypeSchema } from '../collection/event.ts';

/** The preferences of the desktop app on this machine. They are stored outside the archive. */
export const desktopPreferencesSchema = z.strictObject({
  /** Whether the app keeps collecting when the window is closed. */
  keep_running: z.boolean(),
  /** The types of events that cause a system notification. */
  notify: z.array(eventTypeSchema),
});
export type DesktopPreferences = z.output<typeof desktopPreferencesSchema>;
export const desktopPreferencesChangeSchema = desktopPreferencesSchema.partial();
export type DesktopPreferencesChange = z.output<typeof desktopPreferencesChangeSchema>;

/** The interface that the desktop app exposes on its window as `strongroomDesktop`. Browsers do not have it. */
export interface DesktopApi {
  readonly platform: string;
  readonly version: string;
  readPreferences(): Promise<DesktopPreferences>;
  changePreferences(change: DesktopPreferencesChange): Promise<DesktopPreferences>;
  /** Opens the data folder in the system's file manager. */
  showDataFolder(): Promise<void>;
  /** Calls the listener with the path of a page when a menu, the tray or a notification opens one. Returns unsubscribe. */
  onGoTo(listener: (path: string) => void): () => void;
}
