import { utilityProcess } from 'electron';
import type { NodeConfig } from '../server/config.ts';

/** What a process needs to know of the machine. Chromium passes on everything if this is empty. */
const PASSED_ON = ['SystemRoot', 'SystemDrive', 'windir', 'TEMP', 'TMP', 'TMPDIR', 'HOME', 'LANG'];
/** Exit codes of a full heap: SIGTRAP and SIGABRT as wait statuses, and Windows' codes for the same. */
const OUT_OF_MEMORY = new Set([5, 6, 133, 134, 0x80000003, 0xe0000008]);

/**
 * Starts a script in one of Electron's utility processes. `child_process.fork` would need the fuse `runAsNode`, which
 * makes a plain Node of the signed program for whoever asks.
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
  let hasEnded = false;
  let isFatal = false;
  // A fatal error of V8, which its heap's end is mostly; what hostile bytes cause otherwise ends with its own code.
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
      // One that is only being started cannot be killed yet.
      await Promise.race([spawned, exited]);
      if (!hasEnded) started.kill();
      await exited;
    },
  };
};

function environment(): Record<string, string> {
  const known = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { NODE_ENV: 'production', ...Object.fromEntries(known) };
}
