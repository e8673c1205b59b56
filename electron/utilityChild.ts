import { utilityProcess } from 'electron';
import type { NodeConfig } from '../server/config.ts';
import { lowerPriority } from '../server/runtime/child.ts';

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
