import { main } from '../../server/cli/main.ts';
import type { ReaderLimits } from '../../server/config.ts';

/**
 * `strongroom` with other bounds for readers, which come first, as JSON. The node checks its readers at each SIGUSR2, so
 * that a test does not wait and nothing depends on how quick the machine is. Twelve checks are one stall timeout.
 */
const [json = '{}', ...args] = process.argv.slice(2);
const readers = JSON.parse(json) as Partial<ReaderLimits>;
const checkMs = (readers.stallTimeoutMs ?? 0) / 12;
const { setInterval: systemInterval } = globalThis;

globalThis.setInterval = ((run: () => void, ms?: number) => {
  if (ms !== checkMs) return systemInterval(run, ms);
  process.on('SIGUSR2', run);
  return systemInterval(() => {}, ms);
}) as typeof setInterval;

process.exitCode = await main(args, { readers });
