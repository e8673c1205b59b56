import { app, dialog, utilityProcess } from 'electron';
import type { NodeConfig } from '../server/config.ts';
import { lowerPriority } from '../server/runtime/child.ts';
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

/** The environment variables that a process needs. If there were none, Chromium would pass on all. */
const INHERITED_VARIABLES = ['SystemRoot', 'SystemDrive', 'windir', 'TEMP', 'TMP', 'TMPDIR', 'HOME', 'LANG'];
/** Exit codes of a full heap: SIGTRAP and SIGABRT as wait statuses, and Windows' codes for the same. */
const OUT_OF_MEMORY = new Set([5, 6, 133, 134, 0x80000003, 0xe0000008]);

/**
 * Starts a script in one of Electron's utility processes. `child_process.fork` would need the fuse `runAsNode`, with which
 * any program could use the signed app as a plain Node.
 */
export const startUtilityProcess: NonNullable<NodeConfig['startChild']> = ({
  script,
  heapMb,
  onMessage,
  onEnd,
}) => {
  const started = utilityProcess.fork(script, [], {
    execArgv: [`--js-flags=--max-old-space-size=${heapMb}`],
    env: environment(),
    stdio: 'ignore',
    serviceName: 'Strongroom reader',
  });
  const spawned = new Promise<void>((resolve) => started.once('spawn', () => resolve()));
  started.once('spawn', () => lowerPriority(started.pid));
  let hasEnded = false;
  let isFatal = false;
  // A fatal error of V8, usually an exhausted heap. Other failures end with their own exit code.
  started.on('error', () => {
    isFatal = true;
  });
  started.on('message', onMessage);
  const exited = new Promise<void>((resolve) => {
    started.on('exit', (code) => {
      hasEnded = true;
      onEnd({ outOfMemory: isFatal || OUT_OF_MEMORY.has(code >>> 0), reason: `code ${code}` });
      resolve();
    });
  });
  return {
    send: (message) => started.postMessage(message),
    kill: async () => {
      // A process that is still starting cannot be killed yet.
      await Promise.race([spawned, exited]);
      if (!hasEnded) started.kill();
      await exited;
    },
  };
};

function environment(): Record<string, string> {
  const known = INHERITED_VARIABLES.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { NODE_ENV: 'production', ...Object.fromEntries(known) };
}
