import { expect, test } from 'vitest';
import { AdaptiveConcurrency } from '../../../server/collection/schedule/adaptiveConcurrency.ts';

/** A concurrency limit on an event loop whose delays the test reports. */
function limitedRequests(onCapacity = () => {}) {
  let report: ((delayMs: number) => void) | undefined;
  const concurrency = new AdaptiveConcurrency(onCapacity, (onDelay) => {
    report = onDelay;
    return () => {
      report = undefined;
    };
  });
  /** Starts as many requests as the limit allows. Returns their number and a function that ends them. */
  const start = (max: number) => {
    let count = 0;
    for (; concurrency.hasCapacity(max); count += 1) concurrency.onStart();
    return { count, end: () => Array.from({ length: count }, () => concurrency.onEnd()) };
  };
  return { start, delay: (ms: number) => report?.(ms), isWatched: () => report !== undefined };
}

test('starts with few requests and allows more while the event loop is responsive', () => {
  const { start, delay } = limitedRequests();
  const first = start(32);
  expect(first.count).toBe(4);
  for (let interval = 0; interval < 5; interval += 1) delay(0);
  first.end();
  const second = start(32);
  expect(second.count).toBe(14);
});

test('halves the limit when the event loop was blocked, down to the minimum', () => {
  const { start, delay } = limitedRequests();
  const first = start(32);
  for (let interval = 0; interval < 20; interval += 1) delay(0);
  delay(25);
  first.end();
  const second = start(32);
  expect(second.count).toBe(22);
  for (let interval = 0; interval < 20; interval += 1) delay(400);
  second.end();
  expect(start(32).count).toBe(4);
});

test('keeps the limit at moderate delays', () => {
  const { start, delay } = limitedRequests();
  const first = start(32);
  delay(10);
  first.end();
  expect(start(32).count).toBe(4);
});

test('never exceeds the limit of the settings', () => {
  const { start, delay } = limitedRequests();
  const one = start(1);
  expect(one.count).toBe(1);
  for (let interval = 0; interval < 50; interval += 1) delay(0);
  one.end();
  const few = start(6);
  expect(few.count).toBe(6);
  few.end();
});

test('watches the event loop only while requests are running', () => {
  const { start, isWatched } = limitedRequests();
  expect(isWatched()).toBe(false);
  const first = start(32);
  expect(isWatched()).toBe(true);
  first.end();
  expect(isWatched()).toBe(false);
});
