const EVERY_MS = 10;

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
