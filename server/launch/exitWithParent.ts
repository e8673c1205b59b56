import { readFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import { every } from '../runtime/background.ts';

const POLL_INTERVAL_MS = 250;

/**
 * Sends SIGTERM to this process when its terminal is closed or when the npm process that started it has ended. Some
 * shells stay between npm and a script and do not pass signals on.
 */
export function exitWithParent(): void {
  // `nohup` detaches the input from the terminal; the process must keep running then.
  if (isatty(0)) process.once('SIGHUP', endInOrder);
  if (process.env.npm_lifecycle_event === undefined) return;
  const { ppid } = process;
  const parentOfShell = parentOf(ppid);
  const timer = every(POLL_INTERVAL_MS, () => {
    if (process.ppid === ppid && parentOf(ppid) === parentOfShell) return;
    clearInterval(timer);
    endInOrder();
  });
  timer.unref();
}

/** Returns the parent of a process on Linux, whose shells stay; undefined elsewhere and after the process has ended. */
function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}

function endInOrder(): void {
  process.kill(process.pid, 'SIGTERM');
}
