import { setPriority } from 'node:os';

/** As `nice -n 10`. */
const BEHIND_OTHERS = 10;

/**
 * Lets this thread step back behind those that answer requests, where there is a processor too few. Linux gives each
 * thread a priority of its own (setpriority(2), notes); elsewhere it would be the whole node's, and is left as it is.
 */
export function lowerThreadPriority(): void {
  if (process.platform === 'linux') setPriority(BEHIND_OTHERS);
}
