import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Does something and tells how long the event loop was held at a stretch meanwhile, in milliseconds. */
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
