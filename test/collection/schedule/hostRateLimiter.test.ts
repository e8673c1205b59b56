import { afterEach, expect, test, vi } from 'vitest';
import { HostBackoffError, HostRateLimiter } from '../../../server/collection/schedule/hostRateLimiter.ts';
import { ManualClock } from '../../support/manualClock.ts';

const LIMITS = { per_host_concurrency: 2, per_host_pause_ms: 1000, collection_concurrency: 32 };
const signal = new AbortController().signal;
let rateLimiter: HostRateLimiter;

afterEach(() => rateLimiter.close());

/** Requests that go on until they are ended, and how many have begun. */
function requests(clock: ManualClock, limits = LIMITS) {
  rateLimiter = new HostRateLimiter(clock, () => limits);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const visit = (host: string, given = signal) =>
    rateLimiter.visit(host, given, () => {
      begun.push(host);
      return new Promise<void>((end) => {
        ends.push(end);
      });
    });
  return { begun, visit, endOldest: () => ends.shift()?.() };
}

test('per host, requests start a pause apart and at most 2 are under way', async () => {
  const clock = new ManualClock();
  const { begun, visit, endOldest } = requests(clock);
  const all = [visit('a'), visit('a'), visit('a')];
  await clock.turn(0);
  expect(begun).toHaveLength(1);
  await clock.turn(999);
  expect(begun).toHaveLength(1);
  await clock.turn(1);
  expect(begun).toHaveLength(2);
  await clock.turn(10_000);
  expect(begun, 'two are under way').toHaveLength(2);
  endOldest();
  await clock.turn(0);
  expect(begun).toHaveLength(3);
  endOldest();
  endOldest();
  await Promise.all(all);
});

test('hosts that take for ever keep none of the others waiting', async () => {
  const clock = new ManualClock();
  const { begun, visit, endOldest } = requests(clock);
  const hosts = Array.from({ length: 12 }, (_, number) => `host-${number}`);
  const all = hosts.map((host) => visit(host));
  await clock.turn(0);
  expect(begun, 'a few at first').toHaveLength(4);
  await vi.waitFor(() => expect(begun).toEqual(hosts), { timeout: 3000 });
  for (const _ of hosts) endOldest();
  await Promise.all(all);
});

test('hosts do not wait for each other, except for the places shared by all', async () => {
  const clock = new ManualClock();
  const { begun, visit, endOldest } = requests(clock, { ...LIMITS, collection_concurrency: 3 });
  const all = ['a', 'a', 'a', 'b', 'c', 'd'].map((host) => visit(host));
  await clock.turn(0);
  expect(begun).toEqual(['a', 'b', 'c']);
  endOldest();
  await clock.turn(0);
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
  while (begun.length < all.length) {
    endOldest();
    await clock.turn(1000);
  }
  for (let rest = 0; rest < 3; rest += 1) endOldest();
  await Promise.all(all);
});

test('a host that asks to be left alone is left alone, until the very instant', async () => {
  const clock = new ManualClock();
  const { begun, visit, endOldest } = requests(clock);
  rateLimiter.hold('a', clock.now() + 30_000);
  const visiting = visit('a');
  await clock.turn(29_999);
  expect(begun).toEqual([]);
  await clock.turn(1);
  expect(begun).toEqual(['a']);
  endOldest();
  await visiting;
});

test('one that asks for longer than a round waits is not waited for, also by those who wait already', async () => {
  const clock = new ManualClock();
  const { visit, endOldest } = requests(clock, { ...LIMITS, per_host_concurrency: 1 });
  const first = visit('a');
  const second = visit('a');
  await clock.turn(0);
  rateLimiter.hold('a', clock.now() + 3_600_000);
  endOldest();
  await first;
  await expect(second).rejects.toThrow(HostBackoffError);
  await expect(visit('a')).rejects.toMatchObject({ until: clock.now() + 3_600_000 });
});

test('who stops waiting takes nobody’s place', async () => {
  const clock = new ManualClock();
  const { begun, visit, endOldest } = requests(clock);
  const abort = new AbortController();
  const all = [visit('a'), visit('a', abort.signal), visit('a')];
  abort.abort(new Error('no longer'));
  await expect(all[1]).rejects.toThrow('no longer');
  await clock.turn(1000);
  expect(begun).toHaveLength(2);
  endOldest();
  endOldest();
  await Promise.all([all[0], all[2]]);
});
