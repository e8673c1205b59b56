import { isatty } from 'node:tty';

const LOOK_EVERY_MS = 250;

/**
 * Ends this process in order (SIGTERM) when its terminal is closed, or when npm, which started it, was killed. What npm
 * is asked with SIGTERM or SIGINT it passes on: the scripts in package.json make this process its child with `exec`,
 * because a shell in between keeps signals to itself.
 */
export function exitWithParent(): void {
  // `nohup` takes the terminal's input away, and whoever uses it wants the process to stay.
  if (isatty(0)) process.once('SIGHUP', endInOrder);
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    endInOrder();
  }, LOOK_EVERY_MS);
  timer.unref();
}

function endInOrder(): void {
  process.kill(process.pid, 'SIGTERM');
}
