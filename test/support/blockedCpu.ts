const EVERY_MS = 10;

/**
 * The goal is 50 ms, which the benches measure. Tests tell work in turns from work in one go: on a machine that does much
 * else, a turn takes up to three times the processor time, and work in one go was at 350 to 1,500 ms on an idle one.
 */
export const MAX_BLOCKED_MS = 300;

/**
 * Runs some work and returns for how long it blocked the event loop at most, in milliseconds of processor time that this
 * thread used. Unlike the time on the clock, that does not depend on what else the machine does.
 */
export async function maxBlockedCpu(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = process.threadCpuUsage();
  const measure = () => {
    const { user, system } = process.threadCpuUsage(last);
    longest = Math.max(longest, (user + system) / 1000);
    last = process.threadCpuUsage();
  };
  const timer = setInterval(measure, EVERY_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
    measure();
  }
  return longest;
}
