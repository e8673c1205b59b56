import { isatty } from 'node:tty';

const POLL_INTERVAL_MS = 250;

/**
 * Sends SIGTERM to this process when its terminal is closed or when the npm process that started it was killed. npm
 * forwards SIGTERM and SIGINT itself: the scripts in package.json use `exec`, because a shell in between would not pass
 * signals on.
 */
export function exitWithParent(): void {
  // `nohup` detaches the input from the terminal; the process must keep running then.
  if (isatty(0)) process.once('SIGHUP', endInOrder);
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    endInOrder();
  }, POLL_INTERVAL_MS);
  timer.unref();
}

function endInOrder(): void {
  process.kill(process.pid, 'SIGTERM');
}
