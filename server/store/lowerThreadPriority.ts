import { setPriority } from 'node:os';

/** The same as `nice -n 10`. */
const LOW_PRIORITY = 10;

/**
 * Lowers the priority of this thread, so that threads that answer requests run first. Only Linux has a priority for
 * each thread (setpriority(2), notes). On other systems it would apply to the whole process, so nothing is changed.
 */
export function lowerThreadPriority(): void {
  if (process.platform === 'linux') setPriority(LOW_PRIORITY);
}
