import { z } from 'zod';
import { eventTypeSchema } from './event.ts';

/** What the person chose about the app on this machine; it is kept beside the archive, not in it. */
export const desktopPreferencesSchema = z.strictObject({
  /** Whether collection goes on when the window is closed. */
  keep_running: z.boolean(),
  /** The kinds of events that are told as the system tells news. */
  notify: z.array(eventTypeSchema),
});
export type DesktopPreferences = z.output<typeof desktopPreferencesSchema>;
export const desktopPreferencesChangeSchema = desktopPreferencesSchema.partial();
export type DesktopPreferencesChange = z.output<typeof desktopPreferencesChangeSchema>;

/** What the desktop app puts on its window as `strongroomDesktop`. In a plain browser there is none of it. */
export interface DesktopApi {
  readonly platform: string;
  readonly version: string;
  readPreferences(): Promise<DesktopPreferences>;
  changePreferences(change: DesktopPreferencesChange): Promise<DesktopPreferences>;
  /** Shows the data folder in the system's own file manager. */
  showDataFolder(): Promise<void>;
  /** Calls back with the path of the page that a menu, the tray or a notification asks for; gives back how to stop. */
  onGoTo(listener: (path: string) => void): () => void;
}
