import { vi } from 'vitest';
import { EVENTUALLY_MS } from './patience.ts';

/** Repeats a check until it passes, for what a node does in the background. Returns what the check returns. */
export function eventually<Result>(check: () => Result | Promise<Result>): Promise<Result> {
  return vi.waitFor(check, { timeout: EVENTUALLY_MS, interval: 20 });
}
