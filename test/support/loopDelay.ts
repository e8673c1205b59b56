import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Runs some work and returns the longest block of the event loop meanwhile, in milliseconds. */
export async function maxEventLoopDelay(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  try {
    await work();
  } finally {
    delay.disable();
  }
  return delay.max / 1e6;
}
