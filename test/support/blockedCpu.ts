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

/** How often `loop` turns, and how long that takes at most on the machine on which the limits were chosen. */
const TURNS = 10_000_000;
const TURNS_MS = 85;

let slowness: number | undefined;

/**
 * Returns a limit of processor time that was chosen on the reference machine, for this one: the same work takes a slower
 * processor longer. A faster one gets no lower limit, because collecting garbage does not become faster at the same rate.
 */
export function onThisMachine(ms: number): number {
  slowness ??= Math.max(1, loopMs() / TURNS_MS);
  return ms * slowness;
}

/** The shortest of several times, because the first ones include compiling the loop. */
function loopMs(): number {
  const times = Array.from({ length: 3 }, () => {
    const before = process.threadCpuUsage();
    loop();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}

/** Returns its sum, so that it is not optimized away. */
function loop(): number {
  let sum = 0;
  for (let turn = 0; turn < TURNS; turn += 1) sum = (sum * 31 + turn) | 0;
  return sum;
}
