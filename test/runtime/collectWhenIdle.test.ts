import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { collectWhenIdle } from '../../server/runtime/collectWhenIdle.ts';

const gc = vi.fn<(options: object) => void>();
let active = 0;
let heap = 0;
let stop: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  gc.mockClear();
  active = 0;
  heap = 30_000_000;
  stop = collectWhenIdle(
    gc as unknown as NodeJS.GCFunction,
    () => active,
    () => heap,
  );
});
afterEach(() => {
  stop();
  vi.useRealTimers();
});

/** Lets seconds pass, each with this much work. */
function pass(seconds: number, activeMs: number): void {
  for (let second = 0; second < seconds; second += 1) {
    active += activeMs;
    vi.advanceTimersByTime(1_000);
  }
}

test('garbage is collected once when the work of the start has ended', () => {
  pass(10, 200);
  expect(gc).not.toHaveBeenCalled();
  pass(600, 1);
  expect(gc.mock.calls).toEqual([[{ type: 'major', execution: 'sync', flavor: 'last-resort' }]]);
});

test('it is collected again after more work, at most once a minute', () => {
  pass(10, 1);
  expect(gc).toHaveBeenCalledTimes(1);
  pass(4, 200);
  pass(20, 1);
  expect(gc).toHaveBeenCalledTimes(1);
  pass(60, 1);
  expect(gc).toHaveBeenCalledTimes(2);
});

test('a node that was stopped, or cannot collect, does nothing', () => {
  stop();
  stop = collectWhenIdle(
    undefined,
    () => active,
    () => heap,
  );
  expect(vi.getTimerCount()).toBe(0);
});

test('a large heap is not collected, because that would stop the node for long', () => {
  heap = 500_000_000;
  pass(10, 200);
  pass(600, 1);
  expect(gc).not.toHaveBeenCalled();
});
