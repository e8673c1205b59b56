import { app, dialog } from 'electron';
import type { Log } from '../server/runtime/log.ts';
import type { Preferences } from './preferences.ts';

/** Chromium ends the whole app after some more crashes of the graphics process. */
const MAX_GPU_CRASHES = 2;
const CRASHES_WITHIN_MS = 60_000;

/** Draws without the graphics driver if it failed before. Must be called before Electron is ready. */
export function avoidFailedGraphics(preferences: Preferences): void {
  if (preferences.current.software_drawing) app.disableHardwareAcceleration();
}

/**
 * Logs each of Chromium's processes that ended unexpectedly. Chromium starts them again: the network service (the page
 * reconnects its streams), the audio service and the graphics process. The node replaces its readers itself. If the
 * graphics process keeps crashing, the app draws without the driver from the next start, and says so once.
 */
export function setUpProcesses(preferences: Preferences, log: Log): void {
  let crashes: number[] = [];
  app.on('child-process-gone', (_event, { type, reason, exitCode, serviceName, name }) => {
    if (reason === 'clean-exit') return;
    log.error({ type, reason, exitCode, service: name ?? serviceName }, 'A process ended unexpectedly.');
    if (type !== 'GPU' || preferences.current.software_drawing) return;
    const now = Date.now();
    crashes = [...crashes.filter((at) => now - at < CRASHES_WITHIN_MS), now];
    if (crashes.length < MAX_GPU_CRASHES) return;
    preferences.change({ software_drawing: true });
    dialog.showErrorBox(
      'The graphics driver keeps failing',
      'Your archive is safe, and collection continues. Strongroom draws without the driver from its next start.',
    );
  });
}
