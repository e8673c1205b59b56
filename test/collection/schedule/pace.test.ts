import { expect, test } from 'vitest';
import { Pace } from '../../../server/collection/schedule/pace.ts';

/** A pace on an event loop that is held for as long as the test says. */
function pace(onMore = () => {}) {
  let tell: ((heldMs: number) => void) | undefined;
  const paced = new Pace(onMore, (told) => {
    tell = told;
    return () => {
      tell = undefined;
    };
  });
  /** Begins as many requests as may begin, ends them, and says how many they were. */
  const begun = (most: number) => {
    let count = 0;
    for (; paced.hasRoom(most); count += 1) paced.begun();
    return { count, end: () => Array.from({ length: count }, () => paced.ended()) };
  };
  return { begun, held: (ms: number) => tell?.(ms), isWatched: () => tell !== undefined };
}

test('a round begins with a few requests and makes more at once as long as the event loop is free', () => {
  const { begun, held } = pace();
  const first = begun(32);
  expect(first.count).toBe(4);
  for (let look = 0; look < 5; look += 1) held(0);
  first.end();
  const second = begun(32);
  expect(second.count).toBe(14);
});

test('requests are halved when the event loop was held too long, and never fewer than a few', () => {
  const { begun, held } = pace();
  const first = begun(32);
  for (let look = 0; look < 20; look += 1) held(0);
  held(25);
  first.end();
  const second = begun(32);
  expect(second.count).toBe(22);
  for (let look = 0; look < 20; look += 1) held(400);
  second.end();
  expect(begun(32).count).toBe(4);
});

test('an event loop that is neither free nor held too long changes nothing', () => {
  const { begun, held } = pace();
  const first = begun(32);
  held(10);
  first.end();
  expect(begun(32).count).toBe(4);
});

test('there are never more requests at once than the settings allow, be it one', () => {
  const { begun, held } = pace();
  const one = begun(1);
  expect(one.count).toBe(1);
  for (let look = 0; look < 50; look += 1) held(0);
  one.end();
  const few = begun(6);
  expect(few.count).toBe(6);
  few.end();
});

test('the event loop is looked at only while requests are under way', () => {
  const { begun, isWatched } = pace();
  expect(isWatched()).toBe(false);
  const first = begun(32);
  expect(isWatched()).toBe(true);
  first.end();
  expect(isWatched()).toBe(false);
});
